# `generate-bfloat16`: a text is what it is alone in every group of prompts and on every rank that has it whole; sums are
# rounded, so layouts that split them may write another one.

function(generated out)
  execute_process(COMMAND "${GENERATE}" --max-new-tokens 20 --ignore-eos --quiet ${ARGN} OUTPUT_VARIABLE text
    ERROR_VARIABLE err RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${err}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

foreach(model IN ITEMS gpt2 llama)
  foreach(how IN ITEMS "--temperature;0" "--temperature;0.9;--seed;5")
    set(flags --model "${MODELS}/${model}" ${how})
    set(prompts --tokens 3,1,4,1,5,9,2,6 --tokens 27,18 --tokens 60,0,33)
    generated(together ${flags} ${prompts})
    set(alone "")
    foreach(prompt IN ITEMS 3,1,4,1,5,9,2,6 27,18 60,0,33)
      generated(line ${flags} --tokens ${prompt})
      string(APPEND alone "${line}")
    endforeach()
    generated(apart ${flags} ${prompts} --ranks-as-threads --mesh data:2 --layout batch:data)
    if(NOT alone MATCHES "^[0-9,]+\n[0-9,]+\n[0-9,]+\n$" OR NOT together STREQUAL alone OR NOT apart STREQUAL alone)
      message(FATAL_ERROR "${model} ${how}: alone\n${alone}together\n${together}on two ranks\n${apart}")
    endif()
  endforeach()
endforeach()
