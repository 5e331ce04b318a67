# Sizes that are values: one program trains a small model on one, two and four ranks, also on sequences shorter than it has
# positions, and the layout that --choose finds; wrong sizes: one line that says what is wrong, exit code 2.
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
set(flags --data "${DATA}" --steps 6 --warmup 2 --eval-every 6 --sample 0)
set(toy --layers 2 --batch 8 --sequence 16 --d-model 32 --heads 4 --d-ff 48)

# trains(log ranks arguments...)
function(trains log ranks)
  execute_process(COMMAND ${MPIEXEC} ${NUMPROC_FLAG} ${ranks} "${TRAIN}" ${flags} --log "${WORK}/${log}" ${ARGN}
    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 120)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "train ${ARGN} on ${ranks}: exit code ${code}\n${out}${err}")
  endif()
  set(told "${out}" PARENT_SCOPE)
endfunction()
function(are_alike one other)
  execute_process(COMMAND "${COMPARE}" "${WORK}/${one}" "${WORK}/${other}" 1e-4 RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${one} and ${other} differ")
  endif()
endfunction()
# fails(pattern arguments...): exit code 2, and one line that matches.
function(fails pattern)
  execute_process(COMMAND ${MPIEXEC} ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 60)
  string(REPLACE ";" "," lines "${err}")
  string(REGEX MATCHALL "mtf: [^\n]*\n" lines "${lines}")
  list(LENGTH lines count)
  if(NOT code EQUAL 2 OR NOT count EQUAL 1 OR NOT err MATCHES "mtf: [^\n]*${pattern}")
    message(SEND_ERROR "${ARGN}\nexit code ${code}, expected 2 and \"${pattern}\"\n${out}${err}")
  endif()
endfunction()
set(one ${NUMPROC_FLAG} 1 "${TRAIN}" --data "${DATA}")

trains(one.jsonl 1 ${toy})
trains(two.jsonl 2 ${toy} --mesh data:2 --layout batch:data)
trains(four.jsonl 4 ${toy} --mesh "data:2,model:2" --layout "batch:data,heads:model,d_ff:model,vocab:model")
are_alike(one.jsonl two.jsonl)
are_alike(one.jsonl four.jsonl)

# From a file, whose sizes an option comes before; a table of positions that is longer than the sequence.
file(WRITE "${WORK}/toy.json" "{\"layers\": 2, \"batch\": 8, \"sequence\": 16, \"d_model\": 32, \"heads\": 4, \"d_ff\": 96}")
trains(file.jsonl 1 --model "${WORK}/toy.json" --d-ff 48)
are_alike(one.jsonl file.jsonl)
file(WRITE "${WORK}/config.json" "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_embd\": 32, \"n_head\": 4, \"n_positions\": 64,
  \"n_inner\": null, \"vocab_size\": 256, \"resid_pdrop\": 0.1}")
set(theirs --model "${WORK}/config.json" --batch 8 --sequence 16)
trains(theirs.jsonl 1 ${theirs})
trains(theirs-2.jsonl 2 ${theirs} --mesh seq:2 --layout sequence:seq)
trains(theirs-4.jsonl 4 ${theirs} --mesh "seq:2,model:2" --layout "positions:seq,heads:model,batch:seq")
are_alike(theirs.jsonl theirs-2.jsonl)
are_alike(theirs.jsonl theirs-4.jsonl)

# A vocabulary that ranks do not divide, padded.
trains(odd.jsonl 1 ${toy} --vocab 259)
trains(odd-4.jsonl 4 ${toy} --vocab 259/4 --mesh model:4 --layout vocab:model)
are_alike(odd.jsonl odd-4.jsonl)

# What a search finds is trained under: whatever it is, the same losses.
trains(chosen.jsonl 2 ${toy} --choose seconds)
are_alike(one.jsonl chosen.jsonl)
trains(chosen-mesh.jsonl 4 ${toy} --choose bytes --mesh "x:2,y:2" --two-layouts)
if(NOT told MATCHES "mesh x:2 y:2, layout \"")
  message(SEND_ERROR "--choose: expected the mesh and the layout that were chosen\n${told}")
endif()
are_alike(one.jsonl chosen-mesh.jsonl)

# One layer has no upper half, none has nothing.
trains(one-layer.jsonl 1 ${toy} --layers 1)
trains(no-layer.jsonl 1 ${toy} --layers 0)

fails("--d-modle" ${one} --d-modle 3)
fails("--heads: expected a whole number from 0 to [0-9]+.*found \"four\"" ${one} --heads four)
fails("--vocab: expected a whole number from 0 to [0-9]+, or two, as 50257/8.*found \"259/\"" ${one} --vocab 259/)
fails("do not divide its extent.*vocab 259" ${NUMPROC_FLAG} 2 "${TRAIN}" --data "${DATA}" --vocab 259 --mesh model:2 --layout vocab:model)
fails("a dimension has an extent of at least 1; here: batch 0" ${one} --batch 0)
fails("d_model 128 is no multiple of heads 3: give d_head too" ${one} --heads 3)
fails("positions 8 are fewer than a sequence's tokens, 16" ${one} ${toy} --positions 8)
fails("untied_output is 1, or 0 if .*; found 2" ${one} --untied-output 2)
fails("a stack has up to [0-9]+ layers.*here: layers" ${one} --layers 1000000)
fails("do not divide its extent.*batch 9 over 2 ranks" ${NUMPROC_FLAG} 2 "${TRAIN}" --data "${DATA}" --batch 9 --mesh data:2 --layout batch:data)
fails("--model: .*no-such.json" ${one} --model no-such.json)
file(WRITE "${WORK}/other.json" "{\"hidden_size\": 576, \"num_hidden_layers\": 30}")
fails("other.json: \"hidden_size\" is no size of this model; it has layers, batch" ${one} --model "${WORK}/other.json")
file(WRITE "${WORK}/twice.json" "{\"layers\": 1, \"layers\": 2}")
fails("twice.json has the key \"layers\" twice" ${one} --model "${WORK}/twice.json")
fails("--choose.* excludes|--layout excludes --choose" ${one} --choose seconds --layout batch:data)
fails("--machine: expected h100, tpu-v2 or" ${one} --choose seconds --machine abacus)
fails("--machine requires --choose" ${one} --machine h100)
fails("--choose without mpirun: expected --ranks, or a --mesh" ${one} --choose seconds --ranks-as-threads)
# Ranks that were given different ones.
execute_process(COMMAND ${MPIEXEC} ${NUMPROC_FLAG} 1 "${TRAIN}" --data "${DATA}" ${toy} --mesh data:2 --layout batch:data
  : ${NUMPROC_FLAG} 1 "${TRAIN}" --data "${DATA}" ${toy} --d-ff 64 --mesh data:2 --layout batch:data
  OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE code TIMEOUT 60)
if(code EQUAL 0 OR NOT err MATCHES "rank 1 was given other layouts or extents than rank 0")
  message(SEND_ERROR "ranks of two models: exit code ${code}\n${out}${err}")
endif()
# A run that goes on is of the same model.
set(checkpoint --checkpoint "${WORK}/checkpoint" --resume)
trains(first.jsonl 1 ${toy} ${checkpoint})
fails("sizes of the model" ${one} ${toy} --d-ff 64 ${checkpoint} --steps 8 --log "${WORK}/first.jsonl")
