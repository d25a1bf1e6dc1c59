import { type ParseArgsConfig, parseArgs } from 'node:util';
import type { Settings } from '../../config.js';

/** How the start command of `dbos-config.yaml` starts a server. */
export interface CloudStart {
  readonly command: string;
  /** What stands between a signal and the server: npm, or the shell in which the SDK starts the command. */
  readonly behind: string | null;
  /** Null: it does not call `serve`, so that nothing more is known of it. */
  readonly listens: { readonly host: string; readonly port: number; readonly serves: boolean } | null;
  /** It takes the variable away by which the SDK knows that it is in Cloud. */
  readonly hidesCloud: boolean;
}

const FLAGS = { host: { type: 'string' }, port: { type: 'string' }, role: { type: 'string' } } as const;
const SCRIPT = /^npm (?:run )?(?:--\S+ )*(?:run )?([\w:-]+)$/;

/** The last command is the server; those before it run to their end. */
export function cloudStart(
  commands: readonly string[],
  scripts: { readonly [name: string]: string | undefined },
  settings: Settings,
): CloudStart {
  const command = commands.at(-1) ?? '';
  const script = SCRIPT.exec(command.trim())?.[1];
  const text = script === undefined ? command : (scripts[script] ?? command);
  return {
    command,
    behind: script !== undefined ? 'npm' : /^exec\s[^;&|]+$/.test(command.trim()) ? null : 'a shell',
    listens: listensOf(text, settings),
    hidesCloud: /-u\s*DBOS__CLOUD\b|--unset=DBOS__CLOUD\b|\bDBOS__CLOUD=(?!true\b)/.test(text),
  };
}

function listensOf(text: string, settings: Settings): CloudStart['listens'] {
  const words = text.trim().split(/\s+/);
  const serve = words.indexOf('serve');
  if (serve < 0) return null;
  const config: ParseArgsConfig = { args: words.slice(serve + 1), options: FLAGS, strict: false };
  const { host, port, role } = { ...settings, ...parseArgs(config).values };
  return { host: String(host), port: Number(port), serves: role !== 'worker' };
}
