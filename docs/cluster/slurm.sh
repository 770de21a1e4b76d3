#!/bin/bash
#SBATCH --job-name=assay
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
# A Ray cluster on the nodes of an allocation, and one assay command on it:
#   sbatch --nodes 4 docs/cluster/slurm.sh run answers.csv -m f1 -m chrf --out runs/answers
set -euo pipefail
export RAY_USAGE_STATS_ENABLED=0
# others of the network may reach the ports: every process shows a token of this job
RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN
cpus=${SLURM_CPUS_PER_TASK:-1}
gpus=${SLURM_GPUS_ON_NODE:-0}
port=${RAY_PORT:-6379}
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=$(srun --nodes=1 --ntasks=1 -w "${nodes[0]}" hostname --ip-address | awk '{print $1}')

# each stays in the foreground of its step, so that it ends with the job
srun --nodes=1 --ntasks=1 --overlap -w "${nodes[0]}" \
  ray start --head --node-ip-address "$head" --port "$port" --num-cpus "$cpus" --num-gpus "$gpus" \
  --include-dashboard false --block &
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 --overlap -w "$node" \
    bash -c "until ray start --address $head:$port --num-cpus $cpus --num-gpus $gpus --block; do sleep 2; done" &
done
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

# the script runs on the first node, which is the head
until timeout 1 bash -c "</dev/tcp/$head/$port" 2>/dev/null; do sleep 1; done
assay "$@" --engine ray --address "$head:$port"
