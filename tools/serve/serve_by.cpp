#include "serve_by.hpp"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <mtf/train/stop_signal.hpp>

#include "../speaks.hpp"
#include "../writing/generator.hpp"
#include "options.hpp"
#include "service.hpp"

namespace mtf::tools {
namespace {

void serve_on(serve_options const& o, model_on_ranks const& model) {
  service of(o, model);
  if (!model.speaks) {
    // The rank that listens ends them all. (A process has one set of handlers: as its threads, ranks leave them alone.)
    if (!o.on.ranks_as_threads)
      for (int const one : {SIGINT, SIGTERM, SIGUSR1}) std::signal(one, SIG_IGN);
    of.follow();
    return;
  }
  of.run([&](std::uint16_t port) {
    bool const is_6 = o.host.find(':') != std::string::npos;
    auto const host = is_6 ? "[" + o.host + "]" : o.host;
    std::printf("mtf: %s is served on http://%s:%d\n", o.name.c_str(), host.c_str(), port);
    std::fflush(stdout);
  });
}

}  // namespace

int serve_by(int argc, char** argv, std::vector<generator> const& models) {
  mtf::listen_for_stop();  // from here on: a server that was told to end while it began ends as any
  auto const line = parse_serve(argc, argv, models);
  if (line.help) return tell_help(*line.help);
  return models[line.chosen.on.wrong ? 0 : line.model].run(
      argc, argv, line.chosen.on, [&](model_on_ranks const& model) { serve_on(line.chosen, model); });
}

}  // namespace mtf::tools
