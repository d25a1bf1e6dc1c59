import type { KeptArtifacts } from '../../src/core/artifacts/kept-artifacts.js';
import type { Output } from '../../src/core/containers/environment.js';
import { type ArtifactContext, ArtifactKeeper, type ArtifactOwner } from './keep-artifacts.js';
import type { JudgedEnvironment } from './verification-environment.js';

/** Of each stream. */
const WHOLE_BYTES = 4 * 1024 * 1024;
const DEFAULT_BYTES = 32_768;

interface Streams {
  readonly stdout: Output;
  readonly stderr: Output;
}

/**
 * The environment as a judge has it, whose commands leave what they print also with `end`, which keeps it. The judge is given as much of
 * it as it asks for.
 */
export function keepingOutput(environment: JudgedEnvironment): {
  readonly environment: JudgedEnvironment;
  readonly end: (ctx: ArtifactContext, owner: ArtifactOwner, name: string, path: string) => Promise<KeptArtifacts>;
} {
  const printed: Streams[] = [];
  const judge: JudgedEnvironment['judge'] = async (argv, options, place) => {
    const most = options.maxOutputBytes ?? DEFAULT_BYTES;
    const ended = await environment.judge(argv, { ...options, maxOutputBytes: Math.max(most, WHOLE_BYTES) }, place);
    if (ended === null) return null;
    const { stdout, stderr } = ended;
    printed.push({ stdout, stderr });
    return { ...ended, stdout: cut(stdout, most), stderr: cut(stderr, most) };
  };
  const end = async (ctx: ArtifactContext, owner: ArtifactOwner, name: string, path: string) => {
    const keeper = new ArtifactKeeper(ctx, owner);
    for (const streams of printed)
      for (const stream of ['stdout', 'stderr'] as const) {
        const { text, omittedBytes } = streams[stream];
        if (omittedBytes > 0) keeper.omit(`${path}: ${stream}`, `what comes behind ${WHOLE_BYTES} bytes of it`);
        if (text === '') continue;
        await keeper.keep({ name: `${name}.${stream}`, kind: 'output', path, bytes: Buffer.from(text) });
      }
    return keeper.kept();
  };
  return { environment: { ...environment, judge }, end };
}

function cut({ text, omittedBytes }: Output, most: number): Output {
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return { text, omittedBytes };
  // Half a character at the end is no character.
  const kept = bytes
    .subarray(0, most)
    .toString('utf8')
    .replace(/\uFFFD$/u, '');
  return { text: kept, omittedBytes: omittedBytes + bytes.length - Buffer.byteLength(kept) };
}
