# `train --buckets` on a file of documents: batches of several lengths, the same on one, two and four ranks, of a GPT-2 and a
# Llama; a resumed run repeats the whole one, bit for bit, across the end of an epoch. Wrong ones: one line, exit code 2.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
function(expect_same a b tolerance)
  execute_process(COMMAND "${COMPARE}" "${WORK}/${a}.jsonl" "${WORK}/${b}.jsonl" ${tolerance} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
run("${PREPARE}" "${DATA}" --separator "\n" -o "${WORK}/lines.bin")
set(sizes --layers 2 --d-model 32 --batch 4 --sequence 64 --buckets 16,32,48)
set(flags --data "${WORK}/lines.bin" ${sizes} --steps 48 --warmup 5 --eval-every 48 --sample 5)

foreach(model IN ITEMS gpt2 llama)
  set(heads heads)
  set(these ${flags} --model-type ${model})
  if(model STREQUAL "llama")
    set(heads kv_heads)
  endif()
  run("${TRAIN}" ${these} --log "${WORK}/${model}.jsonl")
  # An epoch is shorter than the run.
  if(NOT out MATCHES "an epoch is 41\\.0 steps; batches of 16 x 16, 8 x 32, 4 x 48, 4 x 64 tokens; [0-9.]+ % of an epoch's positions are padded")
    message(FATAL_ERROR "${out}")
  endif()
  run(${MPIEXEC} ${NUMPROC_FLAG} 2 "${TRAIN}" ${these} --mesh data:2 --layout batch:data --log "${WORK}/${model}-2.jsonl"
    --checkpoint "${WORK}/${model}-steps" --every 14 --keep 0)
  expect_same(${model} ${model}-2 1e-4)
  run(${MPIEXEC} ${NUMPROC_FLAG} 2 "${TRAIN}" ${these} --mesh seq:2 --layout sequence:seq --log "${WORK}/${model}-seq.jsonl")
  expect_same(${model} ${model}-seq 1e-4)
  run(${MPIEXEC} ${NUMPROC_FLAG} 4 "${TRAIN}" ${these} --mesh data:2,model:2 --layout "batch:data,${heads}:model,d_ff:model"
    --log "${WORK}/${model}-4.jsonl")
  expect_same(${model} ${model}-4 1e-4)

  file(REMOVE_RECURSE "${WORK}/${model}-steps/step-00000028" "${WORK}/${model}-steps/step-00000042"
    "${WORK}/${model}-steps/step-00000048")
  file(COPY_FILE "${WORK}/${model}-2.jsonl" "${WORK}/${model}-resumed.jsonl")
  run(${MPIEXEC} ${NUMPROC_FLAG} 2 "${TRAIN}" ${these} --mesh data:2 --layout batch:data --log "${WORK}/${model}-resumed.jsonl"
    --checkpoint "${WORK}/${model}-steps" --resume)
  if(NOT out MATCHES "goes on after step 14")
    message(FATAL_ERROR "${out}")
  endif()
  expect_same(${model}-2 ${model}-resumed 0)
endforeach()

# Several batches in a step, of several lengths.
list(APPEND flags --accumulate 3 --steps 6 --eval-every 6)
run("${TRAIN}" ${flags} --log "${WORK}/several.jsonl")
run(${MPIEXEC} ${NUMPROC_FLAG} 2 "${TRAIN}" ${flags} --recompute --mesh data:2 --layout batch:data --log "${WORK}/several-2.jsonl")
expect_same(several several-2 1e-4)

set(short "${TRAIN}" --data "${WORK}/lines.bin" ${sizes} --steps 1 --sample 0)
refused_later("--buckets: expected numbers of tokens, as 64,128,256, found \"16,\"" ${short} --buckets 16,)
refused_later("--buckets: expected numbers of tokens.*found \"0\"" ${short} --buckets 0)
refused_later("--buckets 65: the longest is --sequence, 64; give a longer one" ${short} --buckets 65)
refused_later("--buckets: expected a file of tokens, which has documents .*, found the text" ${short} --data "${DATA}")
refused_later("extent.*sequence 15" ${MPIEXEC} ${NUMPROC_FLAG} 2 ${short} --buckets 15 --mesh seq:2 --layout sequence:seq)
run("${PREPARE}" "${DATA}" -o "${WORK}/one.bin")
refused_later("one.bin has 1 documents; at least 100 are needed for batches of documents" ${short} --data "${WORK}/one.bin")
refused_later("was written with another file of tokens or order of its rows: .* buckets 16 32 48 64 rows 4 key" ${short} --buckets 16,32
  --model-type llama --resume --checkpoint "${WORK}/llama-steps" --log "${WORK}/llama.jsonl")
