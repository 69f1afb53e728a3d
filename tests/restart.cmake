# A store survives kill -9, and the same driver finds the fault of a store that does not.
#
# The mutant is core_native from the same sources, but for one file that a script changed.
if(PMTWIN_SANITIZE MATCHES "thread")
    return() # ThreadSanitizer's background thread does not survive a fork
endif()

set(mutant ${CMAKE_CURRENT_BINARY_DIR}/mutants/esh_commit_first.c)
set(original ${CMAKE_SOURCE_DIR}/core/esh.c)
set(script ${CMAKE_CURRENT_SOURCE_DIR}/mutants/commit_first.cmake)
add_custom_command(OUTPUT ${mutant}
    COMMAND ${CMAKE_COMMAND} -DFROM=${original} -DTO=${mutant} -P ${script}
    DEPENDS ${original} ${script}
    COMMENT "Making the mutant that commits first" VERBATIM)

get_target_property(sources core_native SOURCES)
get_target_property(folder core_native SOURCE_DIR)
list(REMOVE_ITEM sources esh.c)
list(TRANSFORM sources PREPEND ${folder}/)
add_library(core_commit_first OBJECT ${sources} ${mutant})
target_compile_definitions(core_commit_first PRIVATE PM_TARGET=native)
target_link_libraries(core_commit_first PUBLIC house PkgConfig::PMEM)

add_executable(kill_driver kill_driver.c kill_ledger.c)
target_link_libraries(kill_driver PRIVATE house ${ALL_CORE} backends)
add_executable(kill_driver_commit_first kill_driver.c kill_ledger.c)
target_link_libraries(kill_driver_commit_first PRIVATE house core core_commit_first core_counted
    core_emul backends)

# Why the driver comes between the store and libpmem: see there.
foreach(driver kill_driver kill_driver_commit_first)
    target_link_options(${driver} PRIVATE -Wl,--wrap=pmem_flush,--wrap=pmem_drain)
endforeach()

set(runs 200)
if(PMTWIN_SANITIZE)
    set(runs 40)
endif()
add_test(NAME kill_driver COMMAND kill_driver ${runs})
# As many runs as it may need: it ends with the first fault.
add_test(NAME kill_driver_can_fail COMMAND kill_driver_commit_first --expect-fault 400)
set_tests_properties(kill_driver kill_driver_can_fail PROPERTIES LABELS short TIMEOUT 300)
