# For tests of pages in a real browser without a screen: NAME_check.html looks at the page, at two window sizes, with clicks;
# pages with an error each must be found wrong. Sets CHROMIUM, and makes the folder WORK; a test without a browser is
# skipped.
find_program(CHROMIUM NAMES chromium chromium-browser google-chrome)
if(NOT CHROMIUM)
  message("skipped: there is no Chromium; scripts/setup.sh --browser installs it")
  return()
endif()
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

# verdict_on(PAGE OUT): what the check says of this text.
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
    "--user-data-dir=${WORK}/profile" --window-size=1400,1800 --virtual-time-budget=10000 --dump-dom "file://${WORK}/check.html"
    OUTPUT_VARIABLE dom ERROR_VARIABLE errors RESULT_VARIABLE code TIMEOUT 120)
  string(REGEX MATCH "<pre id=\"verdict\">[^<]*" verdict "${dom}")
  string(REPLACE "<pre id=\"verdict\">" "" verdict "${verdict}")
  if(NOT verdict)
    set(verdict "no verdict, exit code ${code}: ${errors}")
  endif()
  set(${out} "${verdict}" PARENT_SCOPE)
endfunction()

# check_page(NAME): WORK/page.html passes; it becomes the page of must_fail.
macro(check_page name)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/${name}_check.html" "${WORK}/check.html" COPYONLY)
  configure_file("${CMAKE_CURRENT_LIST_DIR}/check.js" "${WORK}/check.js" COPYONLY)
  file(READ "${WORK}/page.html" page)
  verdict_on("${page}" verdict)
  message("${verdict}")
  if(NOT verdict MATCHES "^verdict: passed [0-9]+ checks")
    message(FATAL_ERROR "the page ${WORK}/page.html")
  endif()
endmacro()

# must_fail(WHAT FROM TO): the page with FROM in place of TO is found wrong.
function(must_fail what from to)
  string(REPLACE "${from}" "${to}" broken "${page}")
  if(broken STREQUAL page)
    message(SEND_ERROR "the page has no \"${from}\" any more: give this test another error for \"${what}\"")
  endif()
  verdict_on("${broken}" verdict)
  if(NOT verdict MATCHES "^verdict: FAILED")
    message(SEND_ERROR "the check did not see: ${what}\n${verdict}")
  endif()
endfunction()
