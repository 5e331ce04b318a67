#pragma once
// Which mtf this is. CMake reads it from here.
#define MTF_VERSION_MAJOR 0
#define MTF_VERSION_MINOR 1
#define MTF_VERSION_PATCH 0
