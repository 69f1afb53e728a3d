# Rooms of core/ alone: each test is compiled for both targets and runs on an emulated machine.
foreach(target native emul)
    foreach(room pool epoch)
        house_test(test_${room}_${target} test_${room}.c TIMEOUT 120
            LIBS core_${target} backends PkgConfig::PMEM)
        target_compile_definitions(test_${room}_${target} PRIVATE PM_TARGET=${target})
    endforeach()
endforeach()

# Every store of the registry on every target.
set(ALL_CORE core core_native core_counted core_emul)
house_test(test_store test_store.c TIMEOUT 300 LIBS ${ALL_CORE} backends)
house_test(test_store_long test_store.c LONG TIMEOUT 3000 LIBS ${ALL_CORE} backends)
if(TARGET test_store_long)
    target_compile_definitions(test_store_long PRIVATE OPERATIONS=10000000)
endif()

# Real threads and no fibers: what ThreadSanitizer can follow.
add_executable(race_driver race_driver.c)
target_link_libraries(race_driver PRIVATE house ${ALL_CORE} backends)
add_test(NAME race_driver COMMAND race_driver)
set_tests_properties(race_driver PROPERTIES LABELS short TIMEOUT 300)

# One pool file on both targets, and space under churn; at full size where nothing slows it down.
house_test(test_restart test_restart.c TIMEOUT 600 LIBS ${ALL_CORE} backends)
if(PMTWIN_SANITIZE)
    target_compile_definitions(test_restart PRIVATE RECORDS=100000 CHURN_STEP=100000)
endif()
