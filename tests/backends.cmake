# Fibers twice: over the context switch that the build chose, and over ucontext.
house_test(test_fiber test_fiber.c TIMEOUT 60 LIBS backends)
house_test(test_fiber_ucontext test_fiber.c ${CMAKE_SOURCE_DIR}/backends/fiber.c
    ${CMAKE_SOURCE_DIR}/backends/fiber_ucontext.c TIMEOUT 60)

house_test(test_backend test_backend.c TIMEOUT 60 LIBS backends)

house_test(test_emul test_emul.c TIMEOUT 120 LIBS backends)
target_compile_definitions(test_emul PRIVATE PM_TARGET=emul)

# Tasks twice: on simulated threads and on real ones.
house_test(test_task test_task.c TIMEOUT 60 LIBS backends)
target_compile_definitions(test_task PRIVATE PM_TARGET=emul)
house_test(test_task_native test_task.c TIMEOUT 60 LIBS backends)
target_compile_definitions(test_task_native PRIVATE PM_TARGET=native)

# The event stream of an ESH run: the same on aarch64. Long, as it cross-builds everything.
add_executable(trace_hash trace_hash.c)
target_link_libraries(trace_hash PRIVATE house core_emul backends)
add_test(NAME trace_hash COMMAND trace_hash)
set_tests_properties(trace_hash PROPERTIES LABELS short TIMEOUT 60)
if(PMTWIN_LONG AND NOT PMTWIN_SANITIZE)
    add_test(NAME check_aarch64 COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/check_aarch64.sh
        ${CMAKE_SOURCE_DIR} $<TARGET_FILE:trace_hash>)
    set_tests_properties(check_aarch64 PROPERTIES LABELS long TIMEOUT 300)
endif()
