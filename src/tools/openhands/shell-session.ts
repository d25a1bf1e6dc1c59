import { z } from 'zod';
import { RECORDS_DIR } from '../../core/containers/environment-spec.js';
import type { ToolEnvironment } from '../../core/tools/tool-environment.js';
import { shownPart } from '../../models/secrets/known-secrets.js';

/**
 * A shell session whose state is files: each command has a shell of its own, which begins with the state that the one before has left. So
 * the session outlives the worker, and a container that was stopped. A command may go on after its call; the next call finds it.
 */

/** Beside the records of commands, where it stays with the container. */
export const SESSION_DIR = `${RECORDS_DIR}/openhands`;
/** In memory: what is at work ends with the processes of the container. */
const LIVE_DIR = '/tmp/.openhands';

const STATE_BYTES = 1_048_576;
const LONGEST_SECONDS = 1500;
const MARGIN_SECONDS = 60;

/**
 * Runs one command with the state of the session, and keeps what it leaves. Arguments: state, live, workdir, id of the call. With bash
 * variables, functions and aliases stay, else exported variables.
 */
const SHELL = `
__hf_save() {
  if [ -n "$BASH_VERSION" ]; then
    { declare -p; declare -f; alias -p; echo "umask $(umask)"; } >"$__hf_state/env.new" 2>/dev/null
  else
    { export -p; echo "umask $(umask)"; } >"$__hf_state/env.new" 2>/dev/null
  fi
  if [ "$(wc -c <"$__hf_state/env.new")" -le ${STATE_BYTES} ]; then
    mv -f "$__hf_state/env.new" "$__hf_state/env"
  else
    echo "(The variables are too large to stay.)"
  fi
  pwd >"$__hf_state/cwd"
  echo "$1" >"$__hf_live/code.new" && mv -f "$__hf_live/code.new" "$__hf_live/code"
}
if [ -f "$1/env" ]; then . "$1/env" 2>/dev/null; fi
__hf_state=$1 __hf_live=$2
cd "$(cat "$1/cwd" 2>/dev/null)" 2>/dev/null || cd "$3"
export HOLDFAST_COMMAND="$4"
set --
trap '__hf_save $?' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
eval "$(cat "$__hf_live/command")"
`;

/** Waits for a command of the session and records how it ended, if it could not itself. Arguments: shell, and those of the shell. */
const SUPERVISE = `
script=$1
shift
# What shells begin in the background ignores the signal of C-c, unless env can undo that.
reset=
if env --default-signal=INT true 2>/dev/null; then reset='env --default-signal=INT'; fi
if [ -n "$BASH_VERSION" ]; then
  set -m
  $reset bash -c "$script" bash "$@" <"$2/in" >>"$2/out" 2>&1 &
elif command -v setsid >/dev/null; then
  setsid $reset sh -c "$script" sh "$@" <"$2/in" >>"$2/out" 2>&1 &
else
  $reset sh -c "$script" sh "$@" <"$2/in" >>"$2/out" 2>&1 &
fi
echo $! >"$2/pid"
wait $!
code=$?
[ -f "$2/code" ] || echo "$code" >"$2/code"
rm -f "$1/running"
kill "$(cat "$2/holder")" 2>/dev/null
`;

/**
 * Begins a command, or sends something to the one at work, and waits until it has ended or for some time. Arguments: state, live, mode, text,
 * tenths of a second without output, tenths of a second in all (0: none), bytes, workdir. Its exit code 91: a command is at work; 92: none is.
 */
const SESSION = `
state=$1 live=$2 mode=$3 text=$4 quiet=$5 hard=$6 most=$7 workdir=$8 shell=$9
shift 9
supervise=$1
umask 077
mkdir -p "$state" "$live" || exit 90
until mkdir "$live.lock" 2>/dev/null; do
  sleep 0.2
  if ! kill -0 "$(cat "$live.lock/pid" 2>/dev/null)" 2>/dev/null; then
    sleep 0.3
    kill -0 "$(cat "$live.lock/pid" 2>/dev/null)" 2>/dev/null || rm -rf "$live.lock"
  fi
done
echo $$ >"$live.lock/pid"
trap 'rm -rf "$live.lock"' EXIT
is_running() { [ -f "$live/pid" ] && ! [ -f "$live/code" ] && kill -0 "$(cat "$live/pid")" 2>/dev/null; }
signal() { kill -s "$1" -- "-$(cat "$live/pid")" 2>/dev/null || kill -s "$1" "$(cat "$live/pid")" 2>/dev/null; }
lost=0
if [ -f "$state/running" ] && ! is_running && ! [ -f "$live/code" ]; then lost=1; rm -f "$state/running"; fi
failed=0
if [ "$mode" = run ] && is_running; then failed=91
elif [ "$mode" = run ]; then
  rm -rf "$live"
  mkdir "$live" && mkfifo "$live/in" && : >"$live/out" && printf %s "$text" >"$live/command" || exit 90
  echo 0 >"$live/offset"
  : >"$state/running"
  sleep 2000000 >"$live/in" 2>/dev/null &
  echo $! >"$live/holder"
  if command -v bash >/dev/null; then with=bash; else with=sh; fi
  $with -c "$supervise" $with "$shell" "$state" "$live" "$workdir" "$HOLDFAST_COMMAND" </dev/null >/dev/null 2>&1 &
  tries=0
  until [ -f "$live/pid" ] || [ $tries -gt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
elif ! is_running; then failed=92
else
  case $text in
  C-c)
    for name in INT TERM KILL; do
      is_running || break
      signal $name
      tries=0
      while is_running && [ $tries -lt 10 ]; do tries=$((tries + 1)); sleep 0.2; done
    done ;;
  C-z) signal TSTP ;;
  C-d) kill "$(cat "$live/holder")" 2>/dev/null ;;
  '') ;;
  *) printf '%s\\n' "$text" 1<>"$live/in" ;;
  esac
fi
if [ $failed = 0 ]; then
  total=0 idle=0 size=-1
  while is_running; do
    now=$(wc -c <"$live/out")
    if [ "$now" != "$size" ]; then idle=0 size=$now; fi
    if [ $hard -gt 0 ]; then [ $total -lt $hard ] || break; else [ $idle -lt $quiet ] || break; fi
    [ $total -lt ${LONGEST_SECONDS}0 ] || break
    if [ $total -lt 20 ]; then nap=1; else nap=5; fi
    sleep 0.$nap
    total=$((total + nap)) idle=$((idle + nap))
  done
  # What ended a moment ago is still being recorded.
  tries=0
  until is_running || [ -f "$live/code" ] || [ $tries -gt 40 ]; do tries=$((tries + 1)); sleep 0.05; done
fi
omitted=0
if [ -f "$live/out" ]; then
  offset=$(cat "$live/offset") end=$(wc -c <"$live/out")
  length=$((end - offset))
  if [ $length -gt $most ]; then omitted=$((length - most)) length=$most; fi
  tail -c "+$((offset + 1))" "$live/out" | head -c "$length"
  echo "$end" >"$live/offset"
fi
if is_running; then code=-1; else code=$(cat "$live/code" 2>/dev/null || echo -1); fi
printf '%s\\n%s\\n%s\\n%s\\n' "$code" "$omitted" "$lost" "$(cat "$state/cwd" 2>/dev/null || printf %s "$workdir")" >&2
exit $failed
`;

export interface SessionAsked {
  readonly mode: 'run' | 'input';
  readonly text: string;
  /** How long to wait in all; null: until it prints nothing for a while. */
  readonly timeoutSeconds: number | null;
  readonly quietSeconds: number;
  readonly maxOutputBytes: number;
}

export const sessionEnded = z.strictObject({
  output: z.string(),
  exitCode: z.int().describe('-1: the command is still at work.'),
  cwd: z.string(),
  note: z.string().optional(),
});

/** Why nothing was begun or sent. */
export const REFUSED: { readonly [exitCode: number]: string } = {
  91: 'A command is still at work in the session. Send it input with is_input, or end it with C-c.',
  92: 'No command is at work in the session, so there is nothing to send input to.',
};

export async function askSession(
  environment: ToolEnvironment,
  asked: SessionAsked,
): Promise<z.infer<typeof sessionEnded>> {
  const { mode, text, timeoutSeconds, quietSeconds, maxOutputBytes } = asked;
  const tenths = [quietSeconds, timeoutSeconds ?? 0].map((seconds) => String(Math.round(seconds * 10)));
  const ended = await environment.run(
    [
      ...['sh', '-c', SESSION, 'sh', SESSION_DIR, LIVE_DIR, mode, text, ...tenths],
      ...[String(maxOutputBytes), environment.workdir, SHELL, SUPERVISE],
    ],
    { timeoutSeconds: (timeoutSeconds ?? LONGEST_SECONDS) + MARGIN_SECONDS, maxOutputBytes: maxOutputBytes + 8192 },
  );
  const [code = '', omitted = '0', lost = '0', ...cwd] = ended.stderr.text.split('\n').slice(-5);
  const notes = [
    ...(REFUSED[ended.exitCode] === undefined ? [] : [REFUSED[ended.exitCode] ?? '']),
    ...(lost === '1' ? ['The command that was at work before ended with the processes of its container.'] : []),
    ...(omitted === '0' ? [] : [`${omitted} more bytes of the output are left out.`]),
    ...(ended.outOfMemory ? ['The container ran out of memory, and a process was ended.'] : []),
    ...(/^-?\d+$/.test(code) ? [] : ['The session could not be used: its files cannot be written.']),
  ];
  return {
    output: shownPart(ended.stdout.text, omitted !== '0'),
    exitCode: /^-?\d{1,9}$/.test(code) ? Number(code) : -1,
    cwd: cwd.join('\n').trimEnd() || environment.workdir,
    ...(notes.length === 0 ? {} : { note: notes.join(' ') }),
  };
}
