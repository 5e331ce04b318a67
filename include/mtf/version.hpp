#pragma once
// Which mtf this is. CMake reads it from here.

/// The first number of the version: its increase may break programs.
#define MTF_VERSION_MAJOR 0
/// The second number of the version.
#define MTF_VERSION_MINOR 1
/// The third number of the version.
#define MTF_VERSION_PATCH 0
