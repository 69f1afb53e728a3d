/* void fiber_swap(void **save_sp, void *load_sp): System V AMD64. */
    .text
    .globl fiber_swap
    .type fiber_swap, @function
fiber_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size fiber_swap, . - fiber_swap
    .section .note.GNU-stack, "", @progbits
