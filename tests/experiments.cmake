# The command and its parts.
house_test(test_keys test_keys.c TIMEOUT 120 LIBS experiments_parts)
house_test(test_histogram test_histogram.c TIMEOUT 60 LIBS experiments_parts)
house_test(test_options test_options.c TIMEOUT 60 LIBS experiments_parts)

foreach(check cli determinism)
    add_test(NAME check_${check}
        COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_${check}.sh $<TARGET_FILE:pmtwin_bin>)
    set_tests_properties(check_${check} PROPERTIES LABELS short TIMEOUT 600)
endforeach()
