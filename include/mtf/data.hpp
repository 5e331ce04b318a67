#pragma once
// What a model is trained on: files of tokens, and rows of them. Needs POSIX; not part of <mtf/mtf.hpp>. What makes
// tokens from texts is in <mtf/tokenizers.hpp>.
#include <mtf/data/document_batches.hpp>  // IWYU pragma: export
#include <mtf/data/permutation.hpp>       // IWYU pragma: export
#include <mtf/data/text_file.hpp>         // IWYU pragma: export
#include <mtf/data/token_file.hpp>        // IWYU pragma: export
#include <mtf/data/token_rows.hpp>        // IWYU pragma: export
#include <mtf/data/token_writer.hpp>      // IWYU pragma: export
