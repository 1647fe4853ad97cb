#!/bin/sh
# Puts the built program with its libraries, manual pages and completions into a folder:
#   cli/install.sh FOLDER [PROGRAM]
# FOLDER/bin/touchstone starts the program with the libraries beside it, so the folder can be moved.
set -eu
cd "$(dirname "$0")/.."
folder=${1:?name the folder, such as /usr/local}
program=${2:-target/release/touchstone}
own=$folder/lib/touchstone
mkdir -p "$folder/bin" "$own" "$folder/share/man/man1"

# Those that the clone has prepared; the system has the others.
libraries=$(sed -n 's/^TOUCHSTONE_WASMEDGE_LIB = "\(.*\)"/\1/p' .toolchain/wasmedge.toml 2>/dev/null || true)
if [ -n "$libraries" ] && ldd "$program" 2>/dev/null | grep -q libwasmedge; then
    rm -f "$own"/*.so*
    for library in $(ldd "$program" | awk '{ print $3 ? $3 : $1 }' | grep "^$libraries/"); do
        cp -L "$library" "$own/"
    done
    for loader in "$libraries"/ld-linux-*; do
        [ -e "$loader" ] && cp -L "$loader" "$own/"
    done
fi
cp "$program" "$own/touchstone.new"
mv "$own/touchstone.new" "$own/touchstone"

cat >"$folder/bin/touchstone" <<'END'
#!/bin/sh
# Starts Touchstone with the libraries beside it. Its processes are started the same way.
here=$0
while [ -L "$here" ]; do
    link=$(readlink "$here")
    case $link in /*) here=$link ;; *) here=${here%/*}/$link ;; esac
done
own=$(cd "${here%/*}/../lib/touchstone" && pwd) || exit 2
export TOUCHSTONE_START="${own%/lib/touchstone}/bin/touchstone" TOUCHSTONE_IMAGE="$own/touchstone"
for loader in "$own"/ld-linux-*; do
    [ -e "$loader" ] && exec "$loader" --library-path "$own" "$own/touchstone" "$@"
done
exec "$own/touchstone" "$@"
END
chmod +x "$folder/bin/touchstone"

"$folder/bin/touchstone" man "$folder/share/man/man1" 2>/dev/null
for place in bash:bash-completion/completions/touchstone zsh:zsh/site-functions/_touchstone \
    fish:fish/vendor_completions.d/touchstone.fish; do
    file=$folder/share/${place#*:}
    mkdir -p "${file%/*}"
    "$folder/bin/touchstone" completions "${place%%:*}" >"$file"
done
cp LICENSE-APACHE LICENSE-MIT "$own/"
echo "installed $folder/bin/touchstone ($(du -shL "$own" | cut -f1))"
