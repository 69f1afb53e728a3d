# ESH alone, on a pool in ordinary memory. The suite of all stores is tests/core.cmake's.
house_test(test_esh test_esh.c TIMEOUT 120 LIBS core_native backends PkgConfig::PMEM)
target_compile_definitions(test_esh PRIVATE PM_TARGET=native)
house_test(test_esh_merge test_esh_merge.c TIMEOUT 120 LIBS core_native backends PkgConfig::PMEM)
target_compile_definitions(test_esh_merge PRIVATE PM_TARGET=native)
