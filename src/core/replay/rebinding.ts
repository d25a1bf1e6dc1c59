import { standingId } from '../interruptions/standing.js';
import { digestOf } from '../json.js';
import type { EventDraft } from '../log/event.js';
import { callDigest } from '../runs/call.js';

/** Ids and digests of the source, and what stands for them in the fork. */
export interface Rebinding {
  /** Of interruptions, and of the standing decisions that were made with them. */
  readonly ids: ReadonlyMap<string, string>;
  readonly digests: ReadonlyMap<string, string>;
}

/**
 * Binds what belongs to the source to the fork. The new ids of interruptions have the order of the old ones, in which
 * decisions are applied.
 */
export function rebindingOf(events: readonly EventDraft[], runId: string, policyVersion: string): Rebinding {
  const ids = events.flatMap((one) => (one.kind === 'interruption.requested' ? [one.data.id] : [])).sort();
  const fresh = ids.map((id) => `int_${digestOf([runId, id]).slice('sha256:'.length, 'sha256:'.length + 32)}`).sort();
  const digests = events.flatMap((one): [string, string][] => {
    if (one.kind !== 'call.checked') return [];
    const { callId, tool, toolVersion, arguments: args, digest } = one.data;
    return [[digest, callDigest({ runId, callId, tool, toolVersion, arguments: args, policyVersion })]];
  });
  const edited = events.flatMap((one): [string, string][] => {
    if ((one.kind !== 'interruption.decided' && one.kind !== 'interruption.voted') || one.data.edit === undefined)
      return [];
    const { digest: asked, edit } = one.data;
    const checked = events.find((call) => call.kind === 'call.checked' && call.data.digest === asked);
    if (checked?.kind !== 'call.checked') return [];
    const { callId, tool, toolVersion } = checked.data;
    return [[edit.digest, callDigest({ runId, callId, tool, toolVersion, arguments: edit.arguments, policyVersion })]];
  });
  const interruptions = new Map(ids.map((id, index) => [id, fresh[index] ?? id]));
  const standing = events.flatMap((one): [string, string][] => {
    if (one.kind !== 'standing_decision.made') return [];
    const { id, interruption } = one.data;
    return [[id, standingId(interruptions.get(interruption) ?? interruption)]];
  });
  return { ids: new Map([...interruptions, ...standing]), digests: new Map([...digests, ...edited]) };
}

/** An event of the source as the fork has it. */
export function rebound(draft: EventDraft, { ids, digests }: Rebinding): EventDraft {
  const id = (text: string): string => ids.get(text) ?? text;
  const keyOf = (key: string): string =>
    key.replace(
      /^(interruption|decision|vote|standing):([^:]*)(.*)$/,
      (_, kind: string, of: string, rest: string) => `${kind}:${id(of)}${rest}`,
    );
  const own = { ...draft, key: keyOf(draft.key), parentKey: draft.parentKey === null ? null : keyOf(draft.parentKey) };
  const digest = (text: string): string => digests.get(text) ?? text;
  switch (own.kind) {
    case 'call.checked': {
      const { standingDecision: stands, reason, ...data } = own.data;
      // The sentence of a call that needed no approval of its own names what stands.
      const by =
        stands === undefined
          ? { reason }
          : { reason: reason.replace(stands, id(stands)), standingDecision: id(stands) };
      return { ...own, data: { ...data, ...by, digest: digest(data.digest) } };
    }
    case 'standing_decision.made':
      return { ...own, data: { ...own.data, id: id(own.data.id), interruption: id(own.data.interruption) } };
    case 'standing_decision.revoked':
      return { ...own, data: { ...own.data, id: id(own.data.id) } };
    case 'interruption.voted':
    case 'interruption.decided': {
      const { edit, ...data } = own.data;
      const rest = edit === undefined ? {} : { edit: { ...edit, digest: digest(edit.digest) } };
      return { ...own, data: { ...data, id: id(data.id), digest: digest(data.digest), ...rest } } as EventDraft;
    }
    case 'interruption.requested':
      return { ...own, data: { ...own.data, id: id(own.data.id), digest: digest(own.data.digest) } } as EventDraft;
    case 'segment.started':
      return { ...own, data: { ...own.data, decisions: own.data.decisions.map(id) } };
    case 'run.paused':
      return { ...own, data: { ...own.data, interruptions: own.data.interruptions.map(id) } };
    default:
      return own;
  }
}
