# The house checks itself, and each check proves that it can fail. They read the source, and where
# they compile they run both compilers themselves, so the plain gcc build is enough.
if(NOT CMAKE_C_COMPILER_ID STREQUAL "GNU" OR PMTWIN_SANITIZE)
    return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)

#   house_check(NAME COMMAND..)   COMMAND gets the root of the tree, or --self-test
function(house_check name)
    add_test(NAME check_${name} COMMAND ${ARGN} ${CMAKE_SOURCE_DIR})
    add_test(NAME check_${name}_can_fail COMMAND ${ARGN} --self-test)
    set_tests_properties(check_${name} check_${name}_can_fail PROPERTIES LABELS short TIMEOUT 300)
endfunction()

set(here ${CMAKE_CURRENT_SOURCE_DIR})
house_check(layers Python3::Interpreter -B ${here}/check_layers.py)
house_check(core Python3::Interpreter -B ${here}/check_core.py)
house_check(style bash ${here}/check_style.sh)
house_check(headers bash ${here}/check_headers.sh)
house_check(zero_cost bash ${here}/check_zero_cost.sh)
house_check(script bash ${here}/check_script.sh)
