# What `plan --choose` finds: each layout is planned, and trained on its ranks, by the command lines that are printed with
# it, and takes the time, the bytes and the memory that are said there.
file(MAKE_DIRECTORY "${WORK}")
string(REPLACE ";" " " mpirun "${MPIEXEC};${NUMPROC_FLAG}")

# A number by printf's format.
function(written format number out)
  execute_process(COMMAND awk "BEGIN { printf(\"${format}\", ${number}) }" OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# found_is_true(name arguments...): of a search for two layouts, of which one's name matches.
function(found_is_true name)
  execute_process(COMMAND "${PLAN}" --wanted 2 --choose ${ARGN} OUTPUT_VARIABLE out COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE ";" "@" out "${out}")  # which separates the elements of a list
  string(REGEX MATCHALL "[^\n]+\n  [^\n]+ --mesh [^\n]+\n  mpirun -n [^\n]+" found "${out}")
  list(LENGTH found count)
  if(NOT count EQUAL 2 OR NOT out MATCHES "${name}")
    message(FATAL_ERROR "plan --choose ${ARGN}: expected two layouts with command lines, one \"${name}\"\n${out}")
  endif()
  foreach(one IN LISTS found)
    string(REPLACE "@" ";" one "${one}")
    if(NOT one MATCHES "^ +([^ ]+) +([^ ]+) +([^ ]+)  [^\n]+\n  ([^\n]+)\n  mpirun -n ([^\n]+) --data some-text$")
      message(FATAL_ERROR "plan --choose ${ARGN}:\n${one}")
    endif()
    set(said "${CMAKE_MATCH_1} ms, ${CMAKE_MATCH_2} MB sent, ${CMAKE_MATCH_3} MB held")
    set(run "${mpirun} ${CMAKE_MATCH_5} --data '${DATA}' --steps 1 --sample 0 --log '${WORK}/log.jsonl'")
    execute_process(COMMAND sh -c "${CMAKE_MATCH_4} --json '${WORK}/plan.json'" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(READ "${WORK}/plan.json" json)
    string(JSON seconds GET "${json}" layouts 0 seconds)
    string(JSON sent GET "${json}" layouts 0 bytes_sent)
    string(JSON held GET "${json}" layouts 0 peak_bytes)
    written("%.4g ms" "1e3 * ${seconds}" ms)
    written("%.4g MB sent" "${sent} / 1e6" sent_mb)
    written("%.4g MB held" "${held} / 1e6" held_mb)
    if(NOT said STREQUAL "${ms}, ${sent_mb}, ${held_mb}")
      message(SEND_ERROR "${one}\nthe plan says ${ms}, ${sent_mb}, ${held_mb}")
    endif()
    # It ends with an error if its first step sends anything else than the plan that it tells of.
    execute_process(COMMAND sh -c "${run}" OUTPUT_VARIABLE told COMMAND_ERROR_IS_FATAL ANY)
    written("each rank sends %.2f MB a step" "${sent} / 1e6" sends)
    file(READ "${WORK}/log.jsonl" log)
    string(JSON peak GET "${log}" peak_bytes)
    # A run's memory has its kernels' workspaces too.
    written("%d" "${peak} >= ${held} && ${peak} < 1.03 * ${held}" as_planned)
    if(NOT told MATCHES "${sends}" OR NOT as_planned)
      message(SEND_ERROR "${run}\n${told}\nexpected \"${sends}\", and ${held} bytes held: ${peak}")
    endif()
  endforeach()
endfunction()

found_is_true("\"batch:a\", state whole, gradients overlapped" seconds --ranks 2)
found_is_true("\"batch:a\", state split, gradients overlapped" memory --ranks 4)
found_is_true("mesh \"a:2\"" bytes --ranks 2 --model-type llama --layers 2)
