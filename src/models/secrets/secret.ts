import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { FieldError } from '../../core/errors/errors.js';
import { readCommand } from './secret-command.js';
import { readSecretFile } from './secret-file.js';

/**
 * Where a key is, and how it is read. It holds no value: what is read stays in the memory of whoever uses it. It is read when
 * the first request needs it, and once more when a server refuses it.
 */
export interface Secret {
  /** For messages: what a person has to look at, such as `the file /run/secrets/key`. */
  readonly place: string;
  /** The file that holds it, if one does. */
  readonly path?: string;
  /** What is wrong with the declaration itself, found without reading anything. */
  readonly problem?: string | null;
  /** False: there is nothing to read now, which can be told without reading. */
  isThere?(): boolean;
  /** Throws an error that does not repeat what was read. */
  read(): Promise<string>;
}

export const isSecret = (value: unknown): value is Secret =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'place') === 'string' &&
  typeof Reflect.get(value, 'read') === 'function';

/** The field of a configuration whose secret is not there. */
export const missingAt = (pointer: string, value: unknown): readonly FieldError[] =>
  isSecret(value) && !value.problem && value.isThere?.() === false
    ? [{ pointer, detail: `${value.place} is missing` }]
    : [];

/** What a header can carry. */
export const isKeyText = (text: string): boolean => /^[\x21-\x7e]+$/.test(text);

const hasNothing = (text: unknown): boolean => typeof text !== 'string' || text === '' || text.includes('\0');

/** A value that is in the configuration itself. */
export const literalSecret = (value: string): Secret => ({
  place: 'the configuration',
  read: async () => value,
});

/** A variable of the environment, as `variable` gives it. */
export const variableSecret = (name: string, variable: (name: string) => string | null): Secret => ({
  place: `the environment variable ${name}`,
  problem: /^[A-Za-z_]\w*$/.test(String(name)) ? null : 'expected the name of an environment variable',
  isThere: () => variable(name) !== null,
  read: async () => {
    const value = variable(name);
    if (value === null) throw new Error('it is not set');
    return value;
  },
});

/** The content of a file, without spaces and line breaks at its ends; at most 64 KiB. A relative path is one of the working directory. */
export const fileSecret = (path: string): Secret => {
  const problem = hasNothing(path) ? 'expected the path of a file' : null;
  const whole = problem === null ? resolve(path) : '';
  return {
    place: `the file ${whole}`,
    path: whole,
    problem,
    isThere: () => existsSync(whole),
    read: () => readSecretFile(whole),
  };
};

/**
 * What a program prints, without spaces and line breaks at its ends; at most 64 KiB within 10 seconds. The program is started
 * without a shell, with `environment` alone.
 */
export const commandSecret = (
  command: readonly string[],
  environment: () => { readonly [name: string]: string },
): Secret => {
  const wrong = !Array.isArray(command) || hasNothing(command[0]) || command.some((word) => hasNothing(word));
  return {
    place: `the command ${String(command[0])}`,
    problem: wrong ? 'expected a list of a program and its arguments' : null,
    read: () => readCommand(command, environment()),
  };
};
