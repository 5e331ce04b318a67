# Programs of the tools (tools/), each for a task: in mtf itself, and in projects that find_package(mtf COMPONENTS tools).

# mtf_add_tool(TARGET train|plan|generate TASK "my_task" HEADER my_task.hpp [HEADER another.hpp ...] [PRECISION type]): the program
# for a task (tools/task.hpp), a class that the headers define. It takes any mesh and layout on its command line.
# (generate needs mtf's tokenizers, MTF_ENABLE_TOKENIZERS.)
#   PRECISION         float, or what mtf::place takes, such as mtf::mixed_bfloat16
#   RANKS_AS_THREADS  ON: train or generate with the option --ranks-as-threads, which is the whole program compiled once more, for
#                     Kokkos::Serial
#   MESH "data:2;model:2" LAYOUT "batch:data;heads:model" [UPPER_LAYOUT "..."]
#                     train for this mesh and layout alone, which then are types; the upper half of the layers may have a
#                     layout of its own
#   TASK another      generate has several models, and takes that which the directory's config.json is of
#   TRAIN target      plan tells how to run what it chose: by this program beside it
# In place of train, plan or generate a source of your own may be named: the alias `program` in it is that of program.hpp.
# The program's main is generated: the layout's semicolons cannot stand in a definition on a command line.
function(mtf_add_tool target what)
  # Not PARSE_ARGV with list expansion: a mesh is one argument, semicolons and all.
  foreach(word IN ITEMS task ranks_as_threads mesh layout upper_layout train planned)
    unset(${word})  # the caller's, which functions see
  endforeach()
  set(precision float)
  set(includes "")
  set(tasks "")
  set(more_sources "")
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE 2 ${last} 2)
    math(EXPR next "${i} + 1")
    set(value "${ARGV${next}}")
    if("${ARGV${i}}" STREQUAL "TASK")
      list(APPEND tasks "${value}")
    endif()
    if("${ARGV${i}}" MATCHES "^(TASK|PRECISION|RANKS_AS_THREADS|MESH|LAYOUT|UPPER_LAYOUT|TRAIN)$")
      string(TOLOWER "${ARGV${i}}" word)
      set(${word} "${value}")
    elseif("${ARGV${i}}" STREQUAL "HEADER")
      get_filename_component(header "${value}" ABSOLUTE)
      if(NOT EXISTS "${header}")
        set(header "${value}")  # of a library
      endif()
      string(APPEND includes "#include <${header}>\n")
    else()
      message(FATAL_ERROR "mtf_add_tool: ${ARGV${i}} is none of TASK, HEADER, PRECISION, RANKS_AS_THREADS, MESH, LAYOUT, UPPER_LAYOUT, TRAIN")
    endif()
  endforeach()
  if(NOT task OR NOT includes)
    message(FATAL_ERROR "mtf_add_tool(${target} ${what}): expected a TASK, and the HEADER that has it")
  endif()
  if(NOT DEFINED upper_layout)
    set(upper_layout "${layout}")
  endif()

  # What the program is for.
  set(program "mtf::tools::under_any_layout<${task}, ${precision}>")
  if(DEFINED mesh)
    set(program "mtf::tools::under_layout<${task}, \"${mesh}\", \"${layout}\", ${precision}, \"${upper_layout}\">")
  endif()
  set(threads "")
  set(threads_header "")
  # Vendors' libraries multiply matrices for all execution spaces of a build for devices.
  if(ranks_as_threads AND Kokkos_ENABLE_SERIAL AND NOT Kokkos_ENABLE_CUDA AND NOT Kokkos_ENABLE_HIP)
    set(threads_header "#include <mtf/tools/train/ranks_as_threads.hpp>\n")
    set(threads ", mtf::tools::ranks_as_threads")
  endif()
  if(what STREQUAL "plan")
    set(code "#include <mtf/tools/plan/plan.hpp>\n${includes}\nint main(int argc, char** argv) { return mtf::tools::plan<${task}, ${precision}>(argc, argv, \"${train}\"); }\n")
  elseif(what STREQUAL "generate")
    # Each model in a source of its own.
    set(declared "")
    set(listed "")
    set(number 0)
    foreach(each IN LISTS tasks)
      math(EXPR number "${number} + 1")
      set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}-${number}.cpp")
      set(code "#include <mtf/tools/generate/generate.hpp>\n${threads_header}${includes}\nmtf::tools::generator generator_${number}() { return mtf::tools::generator_of<${each}, ${precision}${threads}>(); }\n")
      file(CONFIGURE OUTPUT "${source}" CONTENT "@code@" @ONLY)
      list(APPEND more_sources "${source}")
      string(APPEND declared "mtf::tools::generator generator_${number}();\n")
      string(APPEND listed "generator_${number}(), ")
    endforeach()
    set(code "#include <mtf/tools/generate/generator.hpp>\n\n${declared}\nint main(int argc, char** argv) { return mtf::tools::generate_by(argc, argv, {${listed}}); }\n")
  elseif(what STREQUAL "train")
    set(code "#include <mtf/tools/train/train.hpp>\n${threads_header}${includes}\nusing program = ${program};\nint main(int argc, char** argv) { return mtf::tools::train<program${threads}>(argc, argv); }\n")
  else()
    get_filename_component(own "${what}" ABSOLUTE)
    set(code "#include <mtf/tools/program.hpp>\n${includes}\nusing program = ${program};\n#include <${own}>\n")
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "@code@" @ONLY)
  add_executable(${target} "${source}" ${more_sources})
  if(what STREQUAL "plan")
    target_link_libraries(${target} PRIVATE mtf::plan_tool mtf::models)
    mtf_host_only(${target})
  else()
    set(tool mtf::train_tool)
    if(what STREQUAL "generate")
      set(tool mtf::generate_tool)
    endif()
    target_link_libraries(${target} PRIVATE ${tool} mtf::models mtf::kokkos
      $<TARGET_NAME_IF_EXISTS:mtf::kokkos_compiled> mtf::mpi $<TARGET_NAME_IF_EXISTS:mtf::mpi_compiled> mtf::threads)
  endif()
  if(what STREQUAL "train")
    # Its plan, which depends on the layout's value alone, is compiled once for each task and precision.
    string(MD5 key "${includes} ${task} ${precision}")
    string(SUBSTRING "${key}" 0 8 key)
    set(planned "mtf-planned-${key}")
    if(NOT TARGET ${planned})
      set(source "${CMAKE_CURRENT_BINARY_DIR}/${planned}.cpp")
      set(code "#include <mtf/tools/train/plan_step.hpp>\n${includes}\ntemplate mtf::plan_value mtf::tools::plan_of_step<${task}, ${precision}>(mtf::tools::step_options const&);\n")
      file(CONFIGURE OUTPUT "${source}" CONTENT "@code@" @ONLY)
      set(searched "${CMAKE_CURRENT_BINARY_DIR}/mtf-searched-${key}.cpp")
      set(code "#include <mtf/tools/train/plan_step.hpp>\n${includes}\ntemplate void mtf::tools::choose_layout<${task}, ${precision}>(mtf::tools::step_options&, std::string const&, std::string const&, int, bool);\n")
      file(CONFIGURE OUTPUT "${searched}" CONTENT "@code@" @ONLY)
      # (Of a static library programs for one layout take the plan alone.)
      add_library(${planned} STATIC "${source}" "${searched}")
      target_link_libraries(${planned} PRIVATE mtf::train_tool mtf::models)
      # It runs once: optimized in full it takes more than twice as long to compile, with all optimizers.
      target_compile_options(${planned} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
      mtf_host_only(${planned})
    endif()
    target_link_libraries(${target} PRIVATE ${planned})
  endif()
  # mtf's own programs.
  foreach(each IN ITEMS ${target} ${planned})
    target_link_libraries(${each} PRIVATE $<TARGET_NAME_IF_EXISTS:mtf_warnings> $<TARGET_NAME_IF_EXISTS:mtf_program_flags>)
  endforeach()
endfunction()

# Sources without kernels: nvcc_wrapper calls the host's compiler, which takes a third of the time.
function(mtf_host_only target)
  if(Kokkos_ENABLE_CUDA)
    target_compile_options(${target} PRIVATE --host-only)
  endif()
endfunction()
