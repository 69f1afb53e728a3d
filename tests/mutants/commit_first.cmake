# commit_first.cmake -- ESH's insert with the commit before the record: what kill_driver must find.
#
#   cmake -DFROM=core/esh.c -DTO=FILE -P commit_first.cmake
#
#   add()   pair, flush, fence; state, persist   becomes   state, persist; pair, flush, fence
#
# Fails when a text that it moves is not there exactly once.
cmake_minimum_required(VERSION 3.25)

# Splits text at the only place where mark stands: before, and from the mark on.
function(split text mark before after)
    string(FIND "${text}" "${mark}" first)
    string(FIND "${text}" "${mark}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "${FROM}: not exactly one '${mark}' where add() should have it; "
            "follow the change in ${CMAKE_CURRENT_LIST_FILE}")
    endif()
    string(SUBSTRING "${text}" 0 ${first} head)
    string(SUBSTRING "${text}" ${first} -1 tail)
    set(${before} "${head}" PARENT_SCOPE)
    set(${after} "${tail}" PARENT_SCOPE)
endfunction()

file(READ "${FROM}" text)
split("${text}" "\nstatic void add(" head add)
string(FIND "${add}" "\n}\n" end)
string(SUBSTRING "${add}" ${end} -1 rest)
string(SUBSTRING "${add}" 0 ${end} add)

split("${add}" "    pm_store_relaxed(&pair->key," start record)
split("${record}" "    const uint64_t with = " record commit)
split("${commit}" "    pm_store_release(&b->state, with);" ignored store)
split("${store}" "    pm_persist(&b->state," ignored persist)
if(NOT persist MATCHES "^[^;]*;$")
    message(FATAL_ERROR "${FROM}: add() does not end with its commit; "
        "follow the change in ${CMAKE_CURRENT_LIST_FILE}")
endif()
file(WRITE "${TO}" "${head}${start}${commit}\n${record}${rest}")
