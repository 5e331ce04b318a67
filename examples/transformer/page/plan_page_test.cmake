# The page of `plan --html` in a real browser without a screen, at two window sizes, with clicks (plan_check.html); and pages
# with an error each, which the check must see.
find_program(CHROMIUM NAMES chromium chromium-browser google-chrome)
if(NOT CHROMIUM)
  message("skipped: there is no Chromium; scripts/setup.sh --browser installs it")
  return()
endif()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND "${PLAN}" --mesh "data:2,model:2" --layout "batch:data,heads:model,d_ff:model,vocab:model"
  --layout "batch:data+model" --layout "batch:data,sequence:model" --html "${WORK}/page.html" --json "${WORK}/plan.json"
  OUTPUT_QUIET RESULT_VARIABLE code)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "plan --html: exit code ${code}")
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/plan_check.html" "${WORK}/plan_check.html" COPYONLY)
file(READ "${WORK}/page.html" page)

# verdict_on(PAGE OUT): what plan_check.html says of this page.
function(verdict_on page out)
  string(REPLACE "<head>" "<head>\n<script>
    var errors = [];
    addEventListener('error', (e) => errors.push(e.message));
    // Without a screen pictures come when they like, timers do not.
    requestAnimationFrame = (f) => setTimeout(() => f(performance.now()));
    console.error = console.warn = (...x) => errors.push(x.join(' '));
  </script>" page "${page}")
  file(WRITE "${WORK}/checked.html" "${page}")
  execute_process(COMMAND "${CHROMIUM}" --headless --no-sandbox --disable-gpu --allow-file-access-from-files
    "--user-data-dir=${WORK}/profile" --window-size=1400,1800 --virtual-time-budget=10000 --dump-dom "file://${WORK}/plan_check.html"
    OUTPUT_VARIABLE dom ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT 120)
  string(REGEX MATCH "<pre id=\"verdict\">[^<]*" verdict "${dom}")
  string(REPLACE "<pre id=\"verdict\">" "" verdict "${verdict}")
  if(NOT verdict)
    set(verdict "no verdict, exit code ${code}: ${errors}")
  endif()
  set(${out} "${verdict}" PARENT_SCOPE)
endfunction()

verdict_on("${page}" verdict)
message("${verdict}")
if(NOT verdict MATCHES "^verdict: passed [0-9]+ checks")
  message(FATAL_ERROR "the page of plan --html: ${WORK}/page.html")
endif()

# must_fail(WHAT FROM TO): the page with FROM in place of TO is found wrong.
function(must_fail what from to)
  string(REPLACE "${from}" "${to}" broken "${page}")
  if(broken STREQUAL page)
    message(SEND_ERROR "plan.js has no \"${from}\" any more: give this test another error for \"${what}\"")
  endif()
  verdict_on("${broken}" verdict)
  if(NOT verdict MATCHES "^verdict: FAILED")
    message(SEND_ERROR "the check did not see: ${what}\n${verdict}")
  endif()
endfunction()
must_fail("a chart that is not drawn" "  drawMemory();\n" "")
must_fail("an error in the script" "function drawBytes() {" "function drawBytes() { missing();")
must_fail("clicks that do nothing" "o.onClick = " "o.onClack = ")
must_fail("shards of the wrong ranks" "index = index * n + at[axis], parts *= n" "parts *= n")
must_fail("a page wider than a narrow window" ".scroll { overflow-x: auto; }" "")
must_fail("a price with hidden time counted twice" "l.price.collectives - l.price.hidden" "l.price.collectives")
