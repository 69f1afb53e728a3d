# Fibers twice: over the context switch that the build chose, and over ucontext.
house_test(test_fiber test_fiber.c TIMEOUT 60 LIBS backends)
house_test(test_fiber_ucontext test_fiber.c ${CMAKE_SOURCE_DIR}/backends/fiber.c
    ${CMAKE_SOURCE_DIR}/backends/fiber_ucontext.c TIMEOUT 60)
