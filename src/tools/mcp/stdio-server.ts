import { MCPServerStdio } from '@openai/agents';
import { environmentVariable } from '../../config.js';
import { isRecord } from '../../core/json.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
import { isSecret, type Secret } from '../../models/secrets/secret.js';
import { invalidTool } from '../define/tool-declaration.js';
import { carrySecrets } from '../http/bound-credential.js';

type Started = Extract<ConstructorParameters<typeof MCPServerStdio>[0], { command: string }>;

export type StdioServerOptions = Omit<Started, 'env' | 'name'> & {
  readonly name: string;
  /** Variables of the server: texts, or where secrets are, which are read each time when it is started. */
  readonly env?: { readonly [name: string]: string | Secret };
  /** Variables of this process that it has too, where they are set; beside `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER`. */
  readonly inherit?: readonly string[];
};

const NAME = /^[A-Za-z_]\w*$/;

/**
 * An MCP server over stdio whose environment is stated: `MCPServerStdio` of the Agents SDK that may have secrets by reference. Their
 * values are in the environment of the server and nowhere else. Throws `tool_invalid`; connecting throws `secret_unreadable`.
 */
export function stdioServer(given: StdioServerOptions): MCPServerStdio {
  assertServer(given);
  const { env = {}, inherit = [], ...options } = given;
  for (const [name, value] of Object.entries(env)) {
    const invalid = (message: string) => invalidTool(options.name, [{ path: ['env', name], message }]);
    if (!NAME.test(name)) throw invalid('must be the name of an environment variable');
    if (typeof value !== 'string' && !isSecret(value))
      throw invalid('must be a text, or a secret such as secret.env(name)');
    if (isSecret(value) && value.problem) throw invalid(value.problem);
  }
  for (const [index, name] of inherit.entries()) {
    if (!NAME.test(name))
      throw invalidTool(options.name, [
        { path: ['inherit', index], message: 'must be the name of an environment variable' },
      ]);
  }
  return new StatedServer(options, env, inherit);
}

/** A program in JavaScript may give anything. Throws `tool_invalid`. */
function assertServer(given: unknown): void {
  if (!isRecord(given)) throw invalidTool('stdioServer', [{ path: [], message: 'expected options' }]);
  const { name, command, args = [], env = {}, inherit = [] } = given;
  const isTexts = (list: unknown): boolean => Array.isArray(list) && list.every((one) => typeof one === 'string');
  const wrong = [
    [typeof name === 'string' && name !== '', 'name', 'must be a text'],
    [typeof command === 'string' && command !== '', 'command', 'must be the name or the path of a program'],
    [isTexts(args), 'args', 'must be a list of texts'],
    [isRecord(env), 'env', 'must be an object of variables'],
    [isTexts(inherit), 'inherit', 'must be a list of names of variables'],
  ] as const;
  const problems = wrong.flatMap(([isRight, path, message]) => (isRight ? [] : [{ path: [path], message }]));
  if (problems.length > 0) throw invalidTool(name, problems);
}

/** It is started with what is in `#given`, which holds secrets from just before the start until just after it. */
class StatedServer extends MCPServerStdio {
  readonly #given: Record<string, string>;
  readonly #inherit: readonly string[];
  readonly #plain: readonly (readonly [string, string])[];
  readonly #secrets: readonly (readonly [string, Secret])[];
  #started: Promise<void> = Promise.resolve();

  constructor(
    options: Omit<StdioServerOptions, 'env' | 'inherit'>,
    env: { readonly [name: string]: string | Secret },
    inherit: readonly string[],
  ) {
    const given: Record<string, string> = {};
    super({ ...options, env: given });
    const all = Object.entries(env);
    this.#given = given;
    this.#inherit = inherit;
    this.#plain = all.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : []));
    this.#secrets = all.flatMap(([name, value]) => (typeof value === 'string' ? [] : [[name, value] as const]));
    carrySecrets(
      this,
      this.#secrets.map(([, secret]) => secret),
    );
  }

  override connect(): Promise<void> {
    // One start after the other: what one takes back, another one would miss.
    const started = this.#started.then(() => this.#start());
    this.#started = started.catch(() => undefined);
    return started;
  }

  async #start(): Promise<void> {
    const inherited = this.#inherit.flatMap((name) => {
      const value = environmentVariable(name);
      return value === null ? [] : [[name, value] as const];
    });
    const secrets = await Promise.all(
      this.#secrets.map(async ([name, secret]) => [name, await new HeldSecret(secret).value()] as const),
    );
    Object.assign(this.#given, Object.fromEntries([...inherited, ...this.#plain, ...secrets]));
    try {
      await super.connect();
    } finally {
      for (const [name] of secrets) delete this.#given[name];
    }
  }
}
