# How programs end: exit code, one line of text, no hang.
#   cmake -DPROGRAM=errors_program "-DMPIEXEC=mpirun;--oversubscribe" [-DNUMPROC_FLAG=-n] -P errors_test.cmake
cmake_minimum_required(VERSION 3.20)
if(NOT DEFINED NUMPROC_FLAG)
  set(NUMPROC_FLAG -n)
endif()
set(failures 0)

# ends(how ranks exit_code text): `ranks` 0 starts without mpirun, "threads" too, with threads as ranks; `text` is all of
# the one "mtf:" line, "" for none.
function(ends how ranks exit_code text)
  set(command ${PROGRAM} ${how})
  if(ranks STREQUAL "threads")
    list(APPEND command threads)
  elseif(ranks GREATER 0)
    list(PREPEND command ${MPIEXEC} ${NUMPROC_FLAG} ${ranks})
  endif()
  foreach(attempt RANGE 2)
    execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 20)
    string(REPLACE ";" "," output "${out}${err}")
    # On a loaded machine Open MPI 4.1.4's mpirun sometimes crashes itself when it has told how its ranks ended.
    # MPICH's sometimes loses all that was written before a rank aborted.
    if(NOT output MATCHES "PMIx_server_finalize" AND NOT ("${output}" STREQUAL "" AND NOT "${text}" STREQUAL ""))
      break()
    endif()
  endforeach()
  # Each MPI has its own words for it.
  string(REGEX REPLACE "failed: [^\n]*[Ii]nvalid rank[^\n]*" "failed: (invalid rank)" output "${output}")
  string(REGEX MATCHALL "mtf: [^\n]*" lines "${output}")
  string(REPLACE ";" "," expected "${text}")
  if(result STREQUAL "${exit_code}" AND "${lines}" STREQUAL "${expected}")
    message(STATUS "passed: ${how} with ${ranks} ranks")
    return()
  endif()
  message(STATUS "FAILED: ${how} with ${ranks} ranks\n  expected ${exit_code}: ${expected}\n"
                 "  found ${result}: ${lines}\n${output}")
  math(EXPR failures "${failures} + 1")
  set(failures ${failures} PARENT_SCOPE)
endfunction()

# The same, where ranks may race: of the "mtf:" lines one at least matches, and none does not begin so.
function(ends_like how ranks exit_code pattern)
  foreach(attempt RANGE 2)
    execute_process(COMMAND ${MPIEXEC} ${NUMPROC_FLAG} ${ranks} ${PROGRAM} ${how} RESULT_VARIABLE result
      OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 20)
    string(REPLACE ";" "," output "${out}${err}")
    if(NOT output MATCHES "PMIx_server_finalize" AND NOT "${output}" STREQUAL "")
      break()
    endif()
  endforeach()
  string(REGEX MATCHALL "mtf: [^\n]*" lines "${output}")
  list(FILTER lines INCLUDE REGEX "${pattern}")
  if(result STREQUAL "${exit_code}" AND lines)
    message(STATUS "passed: ${how} with ${ranks} ranks: ${lines}")
    return()
  endif()
  message(STATUS "FAILED: ${how} with ${ranks} ranks\n  expected ${exit_code}: ${pattern}\n  found ${result}: ${output}")
  math(EXPR failures "${failures} + 1")
  set(failures ${failures} PARENT_SCOPE)
endfunction()

set(ENV{MTF_CHECKED} 0)
set(needs "mtf: mesh rows:2 cols:2 needs 4 ranks; mpirun started")
set(late "(not all ranks reported an error within 3 s)")
ends(none 4 0 "")
ends(code 4 7 "")
ends(lone 0 0 "")
ends(lone 1 0 "")
ends(same-sizes 4 0 "")
ends_like(differ-sizes 4 2 "^mtf: .*rank 3 was given other layouts or extents than rank 0, to rank [0-3]: .rows:2 cols:2., \
.batch:rows., .batch:[68].")
ends(none 0 2 "${needs} 1: use mpirun -n 4")
ends(none 3 2 "${needs} 3: use mpirun -n 4")
ends(lone 2 2 "mtf: mesh lone:1 needs 1 rank; mpirun started 2: use mpirun -n 1")
ends(session 4 2 "mtf: no such device")
ends(user-all 4 2 "mtf: no file a.txt")
ends(user-one 4 2 "mtf: rank 3: no file b.txt ${late}")
ends(user-one-barrier 4 2 "mtf: rank 3: no file c.txt ${late}")
ends(user-one-started 4 2 "mtf: rank 3: no file d.txt")
ends(user-one-others-done 4 2 "mtf: rank 3: no file e.txt")
ends(other-one 4 1 "mtf: rank 3: out of luck")
ends(mpi-one 4 1
     "mtf: rank 3: MPI_Sendrecv to rank 4 and from rank 3 of mesh rows:2 cols:2 failed: (invalid rank)")
ends(unknown-one 4 1 "mtf: rank 3: an exception that is not a std::exception")

# A rank that ends, with or without a code, ends others that wait for it.
ends_like(early-one 4 1 "^mtf: rank 3: the rank has ended, while rank 1 waits for it in a collective over rows:2 of mesh \
rows:2 cols:2: all ranks must make the same calls$")
ends_like(early-one-permute 4 1 "^mtf: rank 3: the rank has ended, while rank 1 waits for it in a collective over rows:2 of mesh \
rows:2 cols:2: all ranks must make the same calls$")
ends_like(early-one-code 4 1 "^mtf: rank 3: the rank has ended, while rank [012] waits for it in a collective over \
rows:2 cols:2 of mesh rows:2 cols:2: all ranks must make the same calls$")

# Calls that differ, compared before they are made.
set(same ": all ranks must make the same calls$")
set(ENV{MTF_CHECKED} 1)
set(ENV{MTF_CHECKED_SECONDS} 4)
set(sums "all-reduce .sum. of 1 double")
ends(none 4 0 "")
ends_like(differ-kind 4 1 "^mtf: rank [13]: .*${sums} over rows:2 .*|all-gather .sum. of 1 double over rows:2 .*${same}")
ends_like(differ-operation 4 1 "(einsum over rows:2 cols:2 of mesh rows:2 cols:2 meets rank 3's ${sums} in softmax|\
softmax over rows:2 cols:2 of mesh rows:2 cols:2 meets rank 0's ${sums} in einsum)${same}")
ends_like(differ-combination 4 1 "(meets rank 3's all-reduce .max. of 1 double|meets rank 0's ${sums})${same}")
ends_like(differ-axes 4 1 "waits for others since 4 s${same}|meets rank [0-9]'s")
set(ENV{MTF_CHECKED} 0)
set(ENV{MTF_CHECKED_SECONDS})

ends(none threads 0 "")
ends(code threads 7 "")
ends(lone threads 0 "")
ends(session threads 2 "mtf: no such device")
ends(user-all threads 2 "mtf: no file a.txt")
ends(user-one threads 2 "mtf: rank 3: no file b.txt")
ends(user-one-barrier threads 2 "mtf: rank 3: no file c.txt")
ends(user-one-started threads 2 "mtf: rank 3: no file d.txt")
ends(user-one-others-done threads 2 "mtf: rank 3: no file e.txt")
ends(early-one threads 1 "mtf: rank 1: all-reduce over rows:2 of mesh rows:2 cols:2 waits for rank 3, which has ended: \
all ranks must make the same calls")
ends(other-one threads 1 "mtf: rank 3: out of luck")
ends(mpi-one threads 1 "mtf: rank 3: permute of mesh rows:2 cols:2 with rank 4, which it lacks")
ends(unknown-one threads 1 "mtf: rank 3: an exception that is not a std::exception")

if(failures GREATER 0)
  message(FATAL_ERROR "${failures} failed")
endif()
