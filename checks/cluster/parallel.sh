#!/usr/bin/env bash
# Measures the shards of a run with GNU parallel over ssh on two nodes, which are two sshd on this machine,
# kills a worker, and compares the merged records with one run. The commands are those of docs/shards.md.
# Fetches parallel and sshd into .toolchain/cluster unless they are installed.
source "$(dirname "$0")/shards.sh"

# sshd of root needs a user of its own. In a mount namespace the system has one.
if [ "$(id -u)" = 0 ] && ! getent passwd sshd >/dev/null && [ -z "${CLUSTER_NAMESPACE:-}" ]; then
  unshare --mount true || stop "sshd needs the user sshd: install openssh-server, or run this as another user"
  exec env CLUSTER_NAMESPACE=1 unshare --mount "$0" "$@"
fi
begin parallel

if ! command -v parallel >/dev/null || [ ! -x /usr/sbin/sshd ]; then
  systems/packages.sh .toolchain/cluster/parallel parallel openssh-server
  root=$project/.toolchain/cluster/parallel/root
  export PATH=$root/usr/bin:$root/usr/sbin:$PATH PERL5LIB=$root/usr/share/perl5
  export LD_LIBRARY_PATH=$root/usr/lib/$(uname -m)-linux-gnu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
if [ -n "${CLUSTER_NAMESPACE:-}" ]; then
  { cat /etc/passwd; echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"; } >"$work/passwd"
  mount --bind "$work/passwd" /etc/passwd
  mount -t tmpfs tmpfs /run
  mkdir /run/sshd
fi

# Two nodes, each with a port, a host key and a configuration of its own.
ssh-keygen -q -t ed25519 -N '' -f "$work/key"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
for node in 1 2; do
  port=$((20000 + RANDOM % 20000 + node))
  ssh-keygen -q -t ed25519 -N '' -f "$work/host-$node"
  cat >"$work/sshd-$node" <<CONF
ListenAddress 127.0.0.1:$port
HostKey $work/host-$node
PidFile $work/sshd-$node.pid
AuthorizedKeysFile $work/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
CONF
  cat >>"$work/ssh" <<CONF
Host node$node
  HostName 127.0.0.1
  Port $port
  IdentityFile $work/key
  UserKnownHostsFile $work/known
  StrictHostKeyChecking accept-new
  LogLevel ERROR
CONF
  "$(command -v sshd || echo /usr/sbin/sshd)" -D -e -f "$work/sshd-$node" 2>"$work/sshd-$node.log" &
  pids+=($!)
done
for node in 1 2; do
  for _ in $(seq 100); do
    ssh -F "$work/ssh" "node$node" true 2>/dev/null && continue 2
    sleep 0.1
  done
  cat "$work/sshd-$node.log" >&2
  stop "sshd of node$node does not answer"
done

say "$shards shards on two nodes with $(parallel --version | head -1)"
export PARALLEL_HOME=$work/home PARALLEL_SSH="ssh -F $work/ssh"
mkdir "$work/home"
: >"$work/home/will-cite"
kill_worker 3 &
killer=$!
# Each worker leaves its process number, to be killed by.
parallel --sshlogin 1/node1,1/node2 --retries 3 --joblog "$work/joblog" --resume-failed \
  --results "$work/results/shard-{}.jsonl" \
  "cd '$project' && echo \$\$ >>'$work/begun-{}' && exec '$touchstone' bench '$filter' ${options[*]} \
    --shard {}/$shards --records -" ::: $(seq $shards) >/dev/null 2>"$work/parallel.log" ||
  { cat "$work/joblog" "$work/parallel.log" >&2; stop "parallel failed"; }
wait "$killer"
[ "$(wc -l <"$work/begun-3")" -ge 2 ] || stop "the killed shard was not repeated"
check "$work/results"
