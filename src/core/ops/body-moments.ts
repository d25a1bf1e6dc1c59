/** A moment of the body of a call: right before its first statement, or right after its last one. */
export interface BodyMoment {
  readonly when: 'begins' | 'ended';
  readonly runId: string;
  readonly callId: string;
  readonly tool: string;
  readonly effect: string;
  /** What the body gave. */
  readonly output?: unknown;
}

let listener: ((moment: BodyMoment) => void) | null = null;

/** From now on this process tells of bodies: a crash test ends it there. */
export const hearBodies = (hear: (moment: BodyMoment) => void): void => {
  listener = hear;
};

/** The body itself where no one listens. */
export function toldBody<C>(
  call: Omit<BodyMoment, 'when' | 'output'>,
  body: (context: C) => Promise<unknown>,
): (context: C) => Promise<unknown> {
  const hear = listener;
  if (hear === null) return body;
  return async (context) => {
    hear({ ...call, when: 'begins' });
    const output = await body(context);
    hear({ ...call, when: 'ended', output });
    return output;
  };
}
