#!/usr/bin/env bash
# Compiles and links every kernel for AMD GPUs, and builds and tests all with the newest compilers: hipcc, g++ 16 and
# clang++ 21 of Debian's next release, in a chroot, as Debian 12 has none of them. Needs root, 10 GB and some patience;
# not a part of scripts/test.sh. JOBS compilations run at a time, by default one for each core.
#   scripts/check-hip.sh                 all three
#   scripts/check-hip.sh hip|gcc|clang   one of them
# The chroot is $MTF_CHROOT, by default /var/tmp/mtf-forky; one that is there is used as it is.
set -euo pipefail
cd "$(dirname "$0")/.."

release=forky
chroot="${MTF_CHROOT:-/var/tmp/mtf-$release}"
jobs="${JOBS:-$(nproc)}"
packages=(
  hipcc libamdhip64-dev librocblas-dev g++-16 clang-21 libomp-21-dev cmake ninja-build
  libboost-dev libdnnl-dev librandom123-dev libopenmpi-dev openmpi-bin doctest-dev libcli11-dev nlohmann-json3-dev
  libbenchmark-dev libisal-dev libpcre2-dev libsentencepiece-dev libabsl-dev procps libjs-chart.js
)

builds=("$@")
((${#builds[@]} > 0)) || builds=(hip gcc clang)
for name in "${builds[@]}"; do
  case "$name" in
    hip | gcc | clang) ;;
    *)
      echo "usage: scripts/check-hip.sh [hip] [gcc] [clang]" >&2
      exit 2
      ;;
  esac
done
((EUID == 0)) || { echo "check-hip: a chroot needs root" >&2; exit 2; }

# The chroot, from the mirror that this machine's apt uses.
if [[ ! -e "$chroot/.mtf-ready" ]]; then
  if ! command -v debootstrap >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap
  fi
  # Debian 12's debootstrap does not know the name yet.
  [[ -e "/usr/share/debootstrap/scripts/$release" ]] || ln -s sid "/usr/share/debootstrap/scripts/$release"
  mirror="$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | head -n 1)"
  debootstrap --variant=minbase "$release" "$chroot" "${mirror%/}"
  # A mirror may be older than its index says it is good for.
  echo 'Acquire::Check-Valid-Until "false";' >"$chroot/etc/apt/apt.conf.d/90mtf"
  touch "$chroot/.mtf-ready"
fi

mounted=()
unmount() { for dir in "${mounted[@]}"; do umount "$dir"; done; }
trap unmount EXIT
if ! mountpoint -q "$chroot/proc"; then
  mount -t proc proc "$chroot/proc"
  mounted+=("$chroot/proc")
fi

inside() { chroot "$chroot" /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  DEBIAN_FRONTEND=noninteractive MTF_DOWNLOAD_CACHE=/cache "$@"; }

if ! inside dpkg-query -W "${packages[@]}" >/dev/null 2>&1; then
  cp /etc/resolv.conf "$chroot/etc/resolv.conf"
  inside apt-get update -qq
  inside apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi

# The tree and Kokkos' source.
cmake -P cmake/mtf_kokkos_source.cmake
mkdir -p "$chroot/cache" "$chroot/mtf"
cp "${MTF_DOWNLOAD_CACHE:-$HOME/.cache/mtf}"/kokkos-*.tar.gz "$chroot/cache/"
find "$chroot/mtf" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar --exclude=./build --exclude=./.git -cf - . | tar -C "$chroot/mtf" -xf -

# build NAME TARGET CMAKE-OPTIONS...
build() {
  local name="$1" target="$2"
  shift 2
  echo "==== $name"
  inside cmake -S /mtf -B "/mtf/build/$name" -G Ninja -DMTF_BUILD_BENCHMARKS=ON "$@"
  inside cmake --build "/mtf/build/$name" --target "$target" --parallel "$jobs"
}

for name in "${builds[@]}"; do
  case "$name" in
    hip)
      # Debian has no rocThrust that fits; ROCm lives in /usr.
      build hip mtf_device_programs -DCMAKE_CXX_COMPILER=hipcc -DKokkos_ENABLE_HIP=ON -DKokkos_ARCH_AMD_GFX90A=ON \
        -DKokkos_ENABLE_ROCTHRUST=OFF -DKokkos_ENABLE_OPENMP=OFF -DROCM_PATH=/usr
      ;;
    gcc)
      build gcc all -DMTF_OPTIMIZE_PROGRAMS=OFF -DCMAKE_CXX_COMPILER=g++-16
      inside ctest --test-dir /mtf/build/gcc --output-on-failure -j "$jobs"
      ;;
    clang)
      # (As in CI, what does not depend on the compiler is left to g++.)
      build clang all -DMTF_OPTIMIZE_PROGRAMS=OFF -DMTF_SECOND_COMPILER=ON -DCMAKE_CXX_COMPILER=clang++-21
      inside ctest --test-dir /mtf/build/clang --output-on-failure -j "$jobs"
      ;;
  esac
done
