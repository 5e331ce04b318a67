#!/usr/bin/env bash
# Stands in for Slurm, one job on this machine: called as sbatch, srun and scontrol through links on PATH.
#   STAND_IN_EVENTS="warned:5 preempted:15 lost:25" STAND_IN_LOG=FILE sbatch --ntasks=2 SCRIPT ARGUMENT...
# Each start of the job meets one event, when FILE has so many lines; then it runs to its end:
#   warned     the signal that the script's --signal asks for, to the ranks (with B: to the batch shell); then the limit
#   preempted  SIGCONT and SIGTERM to ranks and batch shell
#   lost       the node: SIGKILL to all, without a word; --requeue starts the job again
# After the limit, and after preemption, SIGTERM comes (again), and SIGKILL if that does not help either.
# sbatch waits for the job, and returns what it returned. In the folder STAND_IN_DIR are its notes.
set -uo pipefail

case "$(basename "$0")" in
  srun)
    mpirun -n "$SLURM_NTASKS" $STAND_IN_MPI_FLAGS "$@" &
    echo "$!" >"$STAND_IN_DIR/launcher"
    wait "$!"  # a signal to mpirun or its ranks is theirs
    exit
    ;;
  scontrol)
    [[ "$*" == "requeue $SLURM_JOB_ID" ]] || { echo "scontrol: only requeue is stood in for" >&2; exit 1; }
    echo requeue >>"$STAND_IN_DIR/requeued"
    exit
    ;;
esac

tasks=1
while [[ "${1:-}" == --* ]]; do
  [[ "$1" == --ntasks=* ]] && tasks="${1#*=}"
  shift
done
script="$1"
shift
option() { sed -n "s/^#SBATCH --$1=\?//p" "$script" | head -n 1; }
grep -q '^#SBATCH --requeue' "$script" || { echo "sbatch: the script has no --requeue" >&2; exit 1; }
signal="$(option signal)"
export SLURM_JOB_ID=17 SLURM_NTASKS="$tasks" SLURM_RESTART_COUNT=0
read -ra events <<<"$STAND_IN_EVENTS"

ranks() { pgrep -P "$(cat "$STAND_IN_DIR/launcher")"; }
lines() { cat "$STAND_IN_LOG" 2>/dev/null | wc -l; }
runs() { kill -0 "$job" 2>/dev/null; }
# Whether the job ended within so many seconds.
ends_in() {
  for ((i = 0; i < $1 * 50; ++i)); do
    runs || return 0
    sleep 0.02
  done
  return 1
}
to_all() { kill "-$1" $(ranks) "$job" 2>/dev/null; }

while :; do
  rm -f "$STAND_IN_DIR/requeued"
  bash "$script" "$@" &
  job=$!
  event="${events[SLURM_RESTART_COUNT]:-}"
  if [[ -n "$event" ]]; then
    while runs && (($(lines) < ${event#*:})); do sleep 0.02; done
    case "${event%:*}" in
      warned)
        name="${signal%@*}"
        if [[ "$name" == B:* ]]; then kill "-${name#B:}" "$job"; else kill "-$name" $(ranks); fi
        ends_in 20 || to_all TERM
        ;;
      preempted) to_all CONT && to_all TERM ;;
      lost)
        kill -9 "$job" $(ranks) "$(cat "$STAND_IN_DIR/launcher")"
        echo requeue >>"$STAND_IN_DIR/requeued"
        ;;
    esac
    ends_in 30 || { echo "sbatch: the job had to be killed after $event" >&2; to_all KILL; }
  fi
  wait "$job" 2>/dev/null
  code=$?
  echo "start $SLURM_RESTART_COUNT, $event: $code" >>"$STAND_IN_DIR/starts"
  [[ -e "$STAND_IN_DIR/requeued" ]] || exit "$code"
  SLURM_RESTART_COUNT=$((SLURM_RESTART_COUNT + 1))
done
