import type { JSX } from 'preact';
import type { EvolutionView } from '../../core/evolution/version.js';
import { ask } from '../api/ask.js';
import { readAgain } from '../api/query.js';
import { FormDialog } from '../shared/modal.js';
import { Text } from '../text/text.js';

interface Props {
  readonly agent: string;
  readonly close: () => void;
}

const send = async (agent: string, verb: 'rollout' | 'rollback', body: object): Promise<void> => {
  await ask<EvolutionView>(`evolution/${encodeURIComponent(agent)}/${verb}`, { method: 'POST', body });
  readAgain('evolution');
};

export function Share({ agent, share, close }: Props & { readonly share: number }): JSX.Element {
  const submit = (form: FormData): Promise<void> => send(agent, 'rollout', { share: Number(form.get('share')) });
  const title = (
    <>
      Share of new runs of <Text text={agent} />
    </>
  );
  return (
    <FormDialog title={title} verb="Change" submit={submit} close={close}>
      <label for="patch-share">Percent of new runs, 1 to 100</label>
      <input id="patch-share" name="share" type="number" min={1} max={100} required defaultValue={share} autofocus />
      <p class="note">Runs that have begun keep what they have. Who proposed the patch cannot raise its share.</p>
    </FormDialog>
  );
}

export function RollBack({ agent, close }: Props): JSX.Element {
  const submit = (form: FormData): Promise<void> => send(agent, 'rollback', { reason: String(form.get('reason')) });
  const title = (
    <>
      Roll the patch of <Text text={agent} /> back?
    </>
  );
  return (
    <FormDialog title={title} verb="Roll back" tone="danger" submit={submit} close={close}>
      <p>New runs have the definition of the configuration. Runs that have begun keep what they have.</p>
      <label for="patch-reason">Reason</label>
      <textarea id="patch-reason" name="reason" rows={3} maxLength={8192} required dir="auto" autofocus />
    </FormDialog>
  );
}
