#!/usr/bin/env bash
# Prepares libwasmedge 0.17 for the backend, in this order:
#   1. the library that is on the system (WASMEDGE_DIR, /usr/local, ~/.wasmedge, /usr),
#   2. the release archive that the SDK itself would download, with its checksum,
#   3. a private folder of Debian packages with a C library of their own: needs
#      apt, but neither root nor a change to the system.
# Writes nothing outside .toolchain/. Cargo finds the result through
# .toolchain/wasmedge.toml, which .cargo/config.toml includes. Running it again
# checks what is there and does nothing else. WASMEDGE_ROUTE=system|release|debian
# asks for one of them.
set -euo pipefail
cd "$(dirname "$0")/../../.."

version=0.17.1
folder=$PWD/.toolchain/wasmedge
settings=.toolchain/wasmedge.toml
route=${WASMEDGE_ROUTE:-any}

say() { echo "wasmedge: $*"; }
stop() { echo "wasmedge: $*" >&2; exit 2; }
may() { [ "$route" = any ] || [ "$route" = "$1" ]; }

case $(uname -s)/$(uname -m) in
  Linux/x86_64)
    debian=amd64 triple=x86_64-linux-gnu loader=ld-linux-x86-64.so.2
    archive=manylinux_2_28_x86_64
    checksum=27a1abec072ddf45b40e2e81e33c1e5fe9b241f31fd1bbf0182f05097489a07a ;;
  Linux/aarch64)
    debian=arm64 triple=aarch64-linux-gnu loader=ld-linux-aarch64.so.1
    archive=manylinux_2_28_aarch64
    checksum=6d7762429083e787ccbddf629868bb59de4325ccdcc31d9f7bd240adcdd9fe9d ;;
  *) debian="" triple="" loader="" archive="" checksum="" ;;
esac

# Where cargo finds it: $1 holds include/ and lib/ or lib64/, $2 is the folder
# with everything that a program needs at run time.
write_settings() {
  mkdir -p .toolchain
  {
    echo "# Written by make wasmedge. A variable that is set in the environment wins."
    echo "[env]"
    echo "WASMEDGE_DIR = \"$1\""
    echo "TOUCHSTONE_WASMEDGE_LIB = \"$2\""
    # The bindings that come with the crate are those of this version; with
    # another one they are made anew, for which libclang is needed.
    if [ "$(version_of "$1")" = "$version" ]; then
      echo "WASMEDGE_RUST_BINDGEN_PATH = \"$PWD/runtimes/wasmedge/library/bindings.sh\""
    fi
  } >"$settings.part"
  if cmp -s "$settings.part" "$settings"; then
    rm "$settings.part"
  else
    mv "$settings.part" "$settings"
  fi
}

# Version of the library whose headers lie in $1/include; empty without.
version_of() {
  sed -n 's/^#define WASMEDGE_VERSION "\([0-9.]*\).*/\1/p' "$1/include/wasmedge/version.h" \
    2>/dev/null || true
}

library_of() {
  local lib
  for lib in "$1/lib64" "$1/lib" "$1/lib/$triple"; do
    [ -e "$lib/libwasmedge.so" ] && echo "$lib" && return
  done
  return 1
}

# 1. What is there already.
system() {
  local place lib found
  for place in "${WASMEDGE_DIR:-}" "$HOME/.wasmedge" "$HOME/.local" /usr/local /usr; do
    case $place in "" | "$folder"*) continue ;; esac
    found=$(version_of "$place")
    lib=$(library_of "$place") || continue
    case $found in
      0.17.*)
        say "using version $found of the system, in $place"
        if [ "$lib" = "$place/lib/$triple" ]; then
          # The SDK does not look into Debian's library folders.
          view "$place/include" "$lib/libwasmedge.so"
          place=$folder/sdk
        fi
        write_settings "$place" "$lib"
        return ;;
      *) say "passing over version ${found:-unknown} in $place: 0.17 is needed" ;;
    esac
  done
  return 1
}

# A folder that holds nothing but the headers and the library: what lies beside
# the library would come before rustc's own libraries while it builds.
view() {
  rm -rf "$folder/sdk"
  mkdir -p "$folder/sdk/lib"
  ln -s "$1" "$folder/sdk/include"
  ln -s "$2" "$folder/sdk/lib/libwasmedge.so"
}

# 2. The archive that the SDK's feature `standalone` downloads; name and
# checksum are those of wasmedge-sys 0.21.1.
release() {
  local url=https://github.com/WasmEdge/WasmEdge/releases/download/$version
  local file=WasmEdge-$version-$archive.tar.gz
  [ -n "$archive" ] && command -v curl >/dev/null || return 1
  if [ ! -e "$folder/cache/$file" ]; then
    mkdir -p "$folder/cache"
    say "trying the release archive (40 MB) from github.com"
    curl --silent --show-error --fail --location --connect-timeout 10 \
      --output "$folder/cache/$file.part" "$url/$file" || {
      rm -f "$folder/cache/$file.part"
      say "github.com does not answer"
      return 1
    }
    mv "$folder/cache/$file.part" "$folder/cache/$file"
  fi
  if ! echo "$checksum  $folder/cache/$file" | sha256sum --check --quiet; then
    rm "$folder/cache/$file"
    stop "the archive has another checksum than the SDK expects; it was removed, try again"
  fi
  rm -rf "$folder/release.part" "$folder/release"
  mkdir "$folder/release.part"
  tar -xzf "$folder/cache/$file" --strip-components=1 -C "$folder/release.part"
  mv "$folder/release.part" "$folder/release"
  say "unpacked into ${folder#"$PWD"/}/release"
  write_settings "$folder/release" "$(library_of "$folder/release")"
}

# 3. Debian's packages of the suite that has this version, and all they need:
# their C library is newer than most systems', so the loader comes along and the
# final programs are linked to it.
packages() {
  local suite=forky keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  local state=$folder/apt root=$folder/root tool found
  [ -n "$debian" ] || stop "there are packages for x86-64 and arm64 only"
  for tool in apt-get apt-cache dpkg-deb; do
    command -v "$tool" >/dev/null || stop "$tool is missing: on a system without apt, install" \
      "WasmEdge $version (https://wasmedge.org/docs/start/install) and run make wasmedge again"
  done
  [ -e "$keyring" ] || stop "$keyring is missing: install debian-archive-keyring"

  mkdir -p "$state"/{lists/partial,cache/archives/partial,parts} "$folder/packages"
  : >"$state/status"
  echo "deb [arch=$debian signed-by=$keyring] http://deb.debian.org/debian $suite main" \
    >"$state/sources.list"
  # Nothing of the system's apt is read or written.
  cat >"$state/apt.conf" <<CONF
Dir::State "$state"; Dir::State::status "$state/status"; Dir::State::lists "$state/lists";
Dir::Cache "$state/cache"; Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "$state/parts"; Dir::Etc::preferencesparts "$state/parts";
Dir::Etc::preferences "$state/none"; Dir::Etc::trustedparts "$state/parts";
APT::Architecture "$debian"; APT::Architectures { "$debian"; };
APT::Sandbox::User ""; Acquire::Languages "none"; Debug::NoLocking "true";
CONF
  export APT_CONFIG=$state/apt.conf
  say "asking Debian $suite for its packages"
  apt-get update -qq || stop "Debian's package lists cannot be had; is there a network?"
  found=$(apt-cache show --no-all-versions libwasmedge-dev | sed -n 's/^Version: //p')
  case $found in
    "$version"-*) ;;
    *) stop "Debian $suite has version ${found:-none} by now, $version is needed: install it by" \
      "hand (https://wasmedge.org/docs/start/install) and run make wasmedge again" ;;
  esac
  # What only the compiler or conversions of character sets need stays away.
  local names
  names=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances libwasmedge-dev | grep '^[a-z0-9]' | grep -v '^gcc-.*-base' |
    grep -v gconv | sort -u)
  say "fetching $(echo "$names" | wc -l) packages (42 MB), checked by apt against Debian's signature"
  # shellcheck disable=SC2086 # one argument a name
  (cd "$folder/packages" && apt-get download -qq $names) ||
    stop "not all packages could be fetched; run make wasmedge again"
  rm -rf "$root.part" "$root"
  mkdir "$root.part"
  local package
  for package in $names; do
    dpkg-deb -x "$folder/packages/$package"_*.deb "$root.part"
  done
  # libLLVM looks for its libraries in lib/ beside its own folder.
  ln -s "$triple" "$root.part/usr/lib/lib"
  [ -e "$root.part/usr/lib/$triple/libwasmedge.so" ] || stop "the packages hold no libwasmedge.so"
  # Some packages have the loader in /lib, some in /usr/lib.
  if [ ! -e "$root.part/usr/lib/$triple/$loader" ]; then
    cp "$(find "$root.part" -name "$loader" -print -quit)" "$root.part/usr/lib/$triple/"
  fi
  mv "$root.part" "$root"
  view ../root/usr/include "../../root/usr/lib/$triple/libwasmedge.so"
  rm -rf "$state"
  (cd "$folder" && sha256sum packages/*.deb "$(realpath --relative-to=. \
    "root/usr/lib/$triple/libwasmedge.so")" "root/usr/lib/$triple/$loader" >SHA256SUMS)
  say "unpacked into ${root#"$PWD"/} ($(du -sh "$root" | cut -f1))"
  write_settings "$folder/sdk" "$root/usr/lib/$triple"
}

if may system && system; then
  exit
fi
if may release && [ -e "$folder/release/include" ]; then
  say "version $version in ${folder#"$PWD"/}/release"
  write_settings "$folder/release" "$(library_of "$folder/release")"
  exit
fi
if may debian && [ -e "$folder/SHA256SUMS" ]; then
  if (cd "$folder" && sha256sum --check --quiet SHA256SUMS); then
    say "version $version in ${folder#"$PWD"/}/root, checksums right"
    write_settings "$folder/sdk" "$folder/root/usr/lib/$triple"
    exit
  fi
  say "what is in ${folder#"$PWD"/} is not what was put there; making it anew"
  rm -rf "$folder"
fi
if may release && release; then
  exit
fi
may debian || stop "the route $route did not lead to the library"
packages
