# Damaged pools: by plan (test_hostile), and by libFuzzer (fuzz_pool, only in the preset fuzz).
house_test(test_hostile test_hostile.c hostile_pools.c TIMEOUT 300
    LIBS core_native backends PkgConfig::PMEM)
target_compile_definitions(test_hostile PRIVATE PM_TARGET=native)

if(NOT PMTWIN_SANITIZE MATCHES "fuzzer")
    return()
endif()

#   fuzz_program(NAME OBJECTS..)   the harness around these objects of a native core
function(fuzz_program name)
    add_executable(${name} fuzz_pool.c hostile_pools.c ${ARGN})
    target_compile_definitions(${name} PRIVATE PM_TARGET=native)
    target_link_libraries(${name} PRIVATE house backends PkgConfig::PMEM)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endfunction()
# Coverage is of the core: the harness leads nowhere.
set_source_files_properties(fuzz_pool.c hostile_pools.c PROPERTIES
    COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)

# Where libFuzzer begins, in letters (fuzz_pool.c has the format): each kind of pool as it is, with
# operations; then some with edits. '`' 'a' .. 'g' are 0, 1 .. 7 modulo 8, 'h' is 0 and seals.
set(seeds)
function(seed name text)
    set(file ${CMAKE_CURRENT_BINARY_DIR}/fuzz_seeds/${name})
    file(WRITE ${file} "${text}")
    set(seeds ${seeds} ${file} PARENT_SCOPE)
endfunction()
foreach(kind IN ITEMS ` a b c d e f)
    seed(whole_${kind} "${kind}`a@aAbBcCdDeEf@g@aAd@e@e@f@g@f@")
    seed(sealed_${kind} "${kind}ac@@ah@@@@@@@@f@g@a@d@e@g@")
    seed(copied_${kind} "${kind}bg@A`@@@@@@@@@gB@c@@B@@@@@@f@g@e@")
endforeach()
seed(lengths "bab@@@o@@@@@@@@f@g@e@")
seed(blobs "bae@@@k@@@@@@@@f@g@e@")
seed(raw "gaPMTWIN@")
seed(far_blob "bad@@U`@@@@@@@@f@")
string(REPLACE ";" "," seed_inputs "${seeds}")

# fuzz_test(NAME LABEL SECONDS)
function(fuzz_test name label seconds)
    math(EXPR limit "${seconds} + 120")
    add_test(NAME ${name} COMMAND fuzz_pool -seed=1 -max_total_time=${seconds} -timeout=10
        -rss_limit_mb=2048 -max_len=128 -len_control=0 -print_final_stats=1
        -seed_inputs=${seed_inputs} -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/fuzz_)
    set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${limit}
        ENVIRONMENT UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1)
endfunction()
fuzz_program(fuzz_pool $<TARGET_OBJECTS:core_native>)
fuzz_test(fuzz_pool short 30)
if(PMTWIN_LONG)
    fuzz_test(fuzz_pool_long long 600)
endif()

# A core that follows any blob's offset: one of the seeds must show it.
set(check "offset > s->pool->memory.size - sizeof(struct esh_blob)")
set(broken ${CMAKE_CURRENT_BINARY_DIR}/esh_recover_broken.c)
file(READ ${CMAKE_SOURCE_DIR}/core/esh_recover.c text)
string(FIND "${text}" "${check}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "esh_recover.c no longer has the check that fuzz_pool_can_fail takes out")
endif()
string(REPLACE "${check}" "false" text "${text}")
file(WRITE ${broken} "${text}")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_SOURCE_DIR}/core/esh_recover.c)
fuzz_program(fuzz_pool_broken ${broken}
    $<FILTER:$<TARGET_OBJECTS:core_native>,EXCLUDE,esh_recover>)
add_dependencies(fuzz_pool fuzz_pool_broken) # who builds the one wants the other
add_test(NAME fuzz_pool_can_fail COMMAND fuzz_pool_broken
    ${CMAKE_CURRENT_BINARY_DIR}/fuzz_seeds/far_blob)
set_tests_properties(fuzz_pool_can_fail PROPERTIES LABELS short TIMEOUT 120
    PASS_REGULAR_EXPRESSION "SUMMARY: AddressSanitizer: SEGV [^ ]*esh_recover_broken.c")
