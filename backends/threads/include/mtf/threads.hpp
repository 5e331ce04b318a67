#pragma once
// The threads backend: collectives between ranks that are threads of one process. For quick tests without mpirun and for
// many ranks on a small machine; no dependency but the core.
#include <mtf/threads/collectives.hpp>
#include <mtf/threads/pool.hpp>
#include <mtf/threads/run.hpp>
#include <mtf/threads/world.hpp>
