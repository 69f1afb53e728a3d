# Damaged pools: by plan (test_hostile), and by libFuzzer (the preset fuzz).
house_test(test_hostile test_hostile.c hostile_pools.c TIMEOUT 300
    LIBS core_native backends PkgConfig::PMEM)
target_compile_definitions(test_hostile PRIVATE PM_TARGET=native)
