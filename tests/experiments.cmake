# The command and its parts.
house_test(test_keys test_keys.c TIMEOUT 120 LIBS experiments_parts)
house_test(test_histogram test_histogram.c TIMEOUT 60 LIBS experiments_parts)
house_test(test_options test_options.c TIMEOUT 60 LIBS experiments_parts)

foreach(check cli pools real_keys)
    add_test(NAME check_${check}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_${check}.sh $<TARGET_FILE:pmtwin_bin>)
    set_tests_properties(check_${check} PROPERTIES LABELS short TIMEOUT 600
        SKIP_RETURN_CODE 77)
endforeach()

# Once is enough: the pages do not depend on the compiler, and check_determinism runs both itself.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT PMTWIN_SANITIZE)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(check_results Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/check_results.py)
    add_test(NAME check_results
        COMMAND ${check_results} $<TARGET_FILE:pmtwin_bin> ${CMAKE_SOURCE_DIR})
    add_test(NAME check_determinism
        COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/check_determinism.sh ${CMAKE_SOURCE_DIR})
    set_tests_properties(check_determinism PROPERTIES LABELS short TIMEOUT 600)
    add_test(NAME check_results_can_fail COMMAND ${check_results} --self-test)
    set(check_counts Python3::Interpreter -B ${CMAKE_CURRENT_SOURCE_DIR}/check_counts.py)
    add_test(NAME check_counts COMMAND ${check_counts} $<TARGET_FILE:pmtwin_bin>)
    add_test(NAME check_counts_can_fail COMMAND ${check_counts} --self-test)
    set_tests_properties(check_counts check_counts_can_fail PROPERTIES LABELS short TIMEOUT 300)
    set_tests_properties(check_results check_results_can_fail PROPERTIES LABELS short TIMEOUT 300)
endif()
