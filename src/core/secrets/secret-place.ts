import { z } from 'zod';

/** Where a secret is, and how it is read: `secret.env('GHCR_TOKEN')`. */
export interface SecretPlace {
  readonly place: string;
  readonly path?: string;
  readonly problem?: string | null;
  isThere?(): boolean;
  read(): Promise<string>;
}

const isPlace = (value: unknown): boolean =>
  typeof Reflect.get(Object(value), 'place') === 'string' && typeof Reflect.get(Object(value), 'read') === 'function';

/** A field of a configuration that says where a secret is. `variable`: one to name in an error. */
export const secretPlace = (variable: string) =>
  z
    .custom<SecretPlace>(isPlace, `is no place of a secret, such as secret.env("${variable}")`)
    .superRefine(({ problem }, context) => {
      if (problem) context.addIssue({ code: 'custom', message: problem });
    });
