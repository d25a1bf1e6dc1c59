import { z } from 'zod';

/**
 * Where a key is, and how it is read. It holds no value: what is read stays in the memory of the one that uses it. It is read when
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

/** A field of a configuration that says where a secret is. `variable`: one to name in an error. */
export const secretPlace = (variable: string) =>
  z
    .custom<Secret>(isSecret, `is no place of a secret, such as secret.env("${variable}")`)
    .superRefine(({ problem }, context) => {
      if (problem) context.addIssue({ code: 'custom', message: problem });
    });

const THIS_MACHINE = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Whether what goes to an address stays on this machine, so that a secret may go there without encryption. */
export const isThisMachine = ({ hostname }: URL): boolean => THIS_MACHINE.has(hostname);
