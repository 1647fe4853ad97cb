#!/usr/bin/env bash
# Measures the shards of a run as a Slurm array job on two nodes, which are two slurmd on this machine, kills a
# worker's node, and compares the merged records with one run. The job is docs/cluster/slurm.sh. Fetches
# Slurm into .toolchain/cluster unless it is installed. Needs root, for slurmd.
source "$(dirname "$0")/shards.sh"
[ "$(id -u)" = 0 ] || stop "slurmd needs root"
begin slurm

if ! command -v slurmctld >/dev/null; then
  systems/packages.sh .toolchain/cluster/slurm slurmctld slurmd slurm-client munge
  root=$project/.toolchain/cluster/slurm/root
  # The names that Debian's alternatives have.
  for name in slurmctld slurmd slurmstepd; do ln -sfn "$name-wlm" "$root/usr/sbin/$name"; done
fi
libraries=${root:-}/usr/lib/$(uname -m)-linux-gnu
export PATH=${root:-}/usr/bin:${root:-}/usr/sbin:$PATH
export LD_LIBRARY_PATH=$libraries/slurm-wlm:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SLURM_CONF=$work/slurm.conf

mkdir -p "$work"/{state,spool-node1,spool-node2}
host=$(hostname -s)
memory=$(($(free -m | awk '/^Mem/ { print $2 }') - 1024))
port=$((20000 + RANDOM % 20000))
cat >"$SLURM_CONF" <<CONF
ClusterName=touchstone
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
PluginDir=$libraries/slurm-wlm
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd-%n.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
ReturnToService=2
SlurmdTimeout=10
JobRequeue=1
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=2
NodeName=node1 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 1)) CPUs=1 RealMemory=$memory
NodeName=node2 NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=1 RealMemory=$memory
PartitionName=all Nodes=node1,node2 Default=YES OverSubscribe=EXCLUSIVE State=UP
CONF

pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
head -c 64 /dev/urandom >"$work/munge.key"
chmod 600 "$work/munge.key"
munged --foreground --force --socket="$work/munge.socket" --key-file="$work/munge.key" \
  --pid-file="$work/munge.pid" --log-file="$work/munge.log" --seed-file="$work/munge.seed" &
pids+=($!)
slurmctld -D -f "$SLURM_CONF" >"$work/slurmctld.out" 2>&1 &
pids+=($!)
for node in node1 node2; do
  slurmd -D -N "$node" -f "$SLURM_CONF" -d "${root:-}/usr/sbin/slurmstepd" >"$work/$node.out" 2>&1 &
  pids+=($!)
done
until sinfo -h -t idle -o %D 2>/dev/null | grep -qx 2; do
  [ "$SECONDS" -lt 120 ] || { tail "$work"/*.log "$work"/*.out >&2; stop "the nodes do not answer"; }
  sleep 1
done
say "$shards shards on two nodes with $(slurmctld -V)"

# Each worker leaves its process number, to be killed by.
cat >"$work/job.sh" <<'JOB'
#!/bin/bash
#SBATCH --exclusive --requeue --open-mode=append
echo $$ >>"$WORK/begun-$SLURM_ARRAY_TASK_ID"
exec "$PROJECT/docs/cluster/slurm.sh" "$@"
JOB
export WORK=$work PROJECT=$project SHARDS=$work/results TOUCHSTONE=$touchstone
# Submits the array and waits until its last task has ended, well or not.
array() {
  local job
  job=$(sbatch --parsable --array="1-$shards" --output="$work/task-%a.log" "$work/job.sh" "$filter" "${options[@]}")
  while squeue -h -j "$job" 2>/dev/null | grep -q .; do
    [ "$SECONDS" -lt 900 ] || { squeue >&2; stop "the job does not end"; }
    sleep 1
  done
}
kill_worker 3 &
killer=$!
array
wait "$killer"
# Slurm requeues the tasks of lost nodes, not those that fail. The same command repeats what is missing.
say "shards that are complete: $(ls "$work/results" | grep -c 'jsonl$') of $shards; the same command again"
array
check "$work/results"
