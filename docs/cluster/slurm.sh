#!/bin/bash
# The shards of a run as an array job: sbatch --array=1-6 docs/cluster/slurm.sh [ARGUMENTS OF bench]
# TOUCHSTONE is the program, SHARDS the folder for the records, which all nodes see.
#SBATCH --job-name=touchstone
#SBATCH --exclusive
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
shard=$SLURM_ARRAY_TASK_ID
records=${SHARDS:-shards}/shard-$shard.jsonl
mkdir -p "$(dirname "$records")"
exec "${TOUCHSTONE:-target/release/touchstone}" bench "$@" \
  --shard "$shard/$SLURM_ARRAY_TASK_COUNT" --records "$records"
