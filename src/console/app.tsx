import type { ComponentType, JSX } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import type { InterruptionCounts } from '../core/interruptions/context.js';
import { followLinks, go, path } from './address.js';
import { cache, refusal, signedOut, silentSince, useAnswer } from './api/query.js';
import { useKeys } from './keys.js';
import { CodeLogin, CodeQuestion, LoginPage, SignInForm } from './login/page.js';
import { broughtCode, session } from './session.js';
import { Jump } from './shared/jump.js';
import { KeyHelp } from './shared/key-help.js';
import { NotLoaded, useLoaded } from './shared/loaded.js';
import { useModal } from './shared/modal.js';
import { now } from './shared/time.js';
import { Who } from './shared/who.js';
import { Text } from './text/text.js';
import { countText } from './text/words.js';

interface PageModule {
  readonly Page: ComponentType<{ readonly id: string; readonly other?: string }>;
}

interface Place {
  readonly pattern: RegExp;
  readonly title: string;
  readonly load: () => Promise<PageModule>;
}

const PLACES: readonly Place[] = [
  { pattern: /^\/inbox(?:\/([^/]+))?$/, title: 'Inbox', load: () => import('./inbox/page.js') },
  { pattern: /^\/runs$/, title: 'Runs', load: () => import('./runs/page.js') },
  { pattern: /^\/runs\/([^/]+)$/, title: 'Run', load: () => import('./run/page.js') },
  { pattern: /^\/runs\/([^/]+)\/compare\/([^/]+)$/, title: 'Compare', load: () => import('./compare/page.js') },
  { pattern: /^\/tasks(?:\/([^/]+))?$/, title: 'Tasks', load: () => import('./tasks/page.js') },
  { pattern: /^\/batches(?:\/([^/]+))?$/, title: 'Batches', load: () => import('./batches/page.js') },
  { pattern: /^\/agents(?:\/([^/]+))?$/, title: 'Agents', load: () => import('./agents/page.js') },
  {
    pattern: /^\/evolution(?:\/([^/]+)(?:\/([^/]+))?)?$/,
    title: 'Evolution',
    load: () => import('./evolution/page.js'),
  },
  { pattern: /^\/memory(?:\/([^/]+)(?:\/(document))?)?$/, title: 'Memory', load: () => import('./memory/page.js') },
  { pattern: /^\/operations$/, title: 'Operations', load: () => import('./operations/page.js') },
  { pattern: /^\/statistics$/, title: 'Statistics', load: () => import('./statistics/page.js') },
  { pattern: /^\/data$/, title: 'Data', load: () => import('./data/page.js') },
  { pattern: /^\/sessions\/([^/]+)$/, title: 'Session', load: () => import('./sessions/page.js') },
  { pattern: /^\/settings$/, title: 'Settings', load: () => import('./settings/page.js') },
];

const NOWHERE: Place = { pattern: /./, title: 'Nothing', load: () => Promise.resolve({ Page: Nowhere }) };

const LINKS = [
  ['/inbox', 'Inbox', 'i'],
  ['/runs', 'Runs', 'r'],
  ['/tasks', 'Tasks', 't'],
  ['/agents', 'Agents', 'a'],
  ['/evolution', 'Evolution', 'e'],
  ['/memory', 'Memory', 'm'],
  ['/operations', 'Operations', 'o'],
  ['/statistics', 'Statistics', 's'],
  ['/data', 'Data', 'd'],
] as const;

function Head({ waiting }: { readonly waiting: number | null }): JSX.Element {
  const at = path.value;
  // On a phone the links scroll sideways. The number of what waits comes later, and moves them.
  useEffect(() => {
    document.querySelector('.head nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [at, waiting]);
  return (
    <header class="head">
      <a class="brand" href="/inbox">
        Holdfast
      </a>
      <nav aria-label="Main">
        {LINKS.map(([to, name]) => (
          <a
            key={to}
            href={to}
            aria-current={
              path.value.startsWith(to === '/tasks' && path.value.startsWith('/batches') ? '/batches' : to)
                ? 'page'
                : undefined
            }
          >
            {name}
            {to === '/inbox' && waiting !== null && waiting > 0 && (
              <span class="count">
                {countText(waiting)}
                <span class="unseen"> waiting</span>
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class="fill" />
      <button type="button" class="plain jump" onClick={() => openJump()}>
        Jump <kbd>Ctrl K</kbd>
      </button>
      <Who />
    </header>
  );
}

const openJump = (): void => {
  const dialog = document.getElementById('jump');
  if (dialog instanceof HTMLDialogElement) dialog.showModal();
};

function Silence(): JSX.Element | null {
  const since = silentSince.value;
  if (since === null) return null;
  const seconds = Math.max(0, Math.round((now.value - since) / 1000));
  return (
    <div class="silence">
      <span role="status">
        No answer from the server. Trying again. What is shown may be old, and nothing can be decided.
      </span>{' '}
      <span aria-hidden="true">({seconds} s)</span>
    </div>
  );
}

/** Says that the server refuses to say again what is shown. */
function Refusal(): JSX.Element | null {
  const error = refusal.value;
  if (error === null || signedOut.value || silentSince.value !== null) return null;
  return (
    <div class="silence" role="status">
      What is shown may be old: <Text text={error.message} kind="prose" /> <code>{error.problem.code}</code>
    </div>
  );
}

/** The page of an address, loaded when it is first opened. */
function Routed(): JSX.Element {
  const place = PLACES.find(({ pattern }) => pattern.test(path.value)) ?? NOWHERE;
  const { code, failed } = useLoaded(place.load);
  useEffect(() => {
    document.title = `${place.title} · Holdfast`;
  }, [place]);
  if (failed) return <NotLoaded />;
  if (code === undefined) return <div class="loading" />;
  const [, id = '', other] = place.pattern.exec(path.value) ?? [];
  // The inbox keeps its list from item to item. Elsewhere nothing of one thing is shown beside another.
  const key = place.title === 'Inbox' ? place.title : path.value;
  return <code.Page key={key} id={decoded(id)} {...(other === undefined ? {} : { other: decoded(other) })} />;
}

/** A part of the address; as it is where it is no encoding of a text. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function Nowhere(): JSX.Element {
  return (
    <section class="empty">
      <h1>Nothing is here</h1>
      <p>
        <a href="/inbox">Open the inbox</a>
      </p>
    </section>
  );
}

function SignedIn(): JSX.Element {
  useKeys([
    ...LINKS.map(([to, name, key]) => ({ key: `g ${key}`, says: name, act: () => go(to) })),
    { key: '?', says: 'All keys', act: () => showHelp(true) },
  ]);
  const [help, showHelp] = useState(false);
  const counts = useAnswer<InterruptionCounts>({ path: 'interruptions/counts', every: 2000 });
  const waiting = counts.data?.pending ?? null;
  useEffect(() => {
    document.title = document.title.replace(/^(\(\d+\+?\) )?/, waiting ? `(${waiting}) ` : '');
  }, [waiting, path.value]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      openJump();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  useEffect(() => {
    let stop = (): void => {};
    let isGone = false;
    // A page that cannot load it has its polls.
    import('./api/news.js').then(
      ({ followNews }) => {
        if (!isGone) stop = followNews();
      },
      () => undefined,
    );
    return () => {
      isGone = true;
      stop();
    };
  }, []);
  const isAtRoot = path.value === '/' || path.value === '/login';
  // Before any key counts, which may lead elsewhere.
  useLayoutEffect(() => {
    if (isAtRoot) go('/inbox', { replace: true });
  }, [isAtRoot]);
  return (
    <>
      <Head waiting={waiting} />
      <Silence />
      <Refusal />
      <main id="main">{isAtRoot ? null : <Routed />}</main>
      <Jump />
      {help && <KeyHelp close={() => showHelp(false)} />}
    </>
  );
}

/** The dialog stands over the page, which stays as it is with what was typed. */
function SignInAgain(): JSX.Element {
  const dialog = useModal();
  return (
    <dialog ref={dialog} aria-labelledby="sign-in" onCancel={(event) => event.preventDefault()}>
      <SignInForm />
    </dialog>
  );
}

export function App(): JSX.Element {
  const who = session.value;
  useEffect(() => {
    document.addEventListener('click', followLinks);
    return () => document.removeEventListener('click', followLinks);
  }, []);
  useEffect(() => cache.mount(), []);
  if (who === undefined) return <Silence />;
  const code = broughtCode.value;
  if (code !== null) return who === null ? <CodeLogin code={code} /> : <CodeQuestion code={code} actor={who.actor} />;
  if (who === null) return <LoginPage />;
  return (
    <>
      <SignedIn key={`${who.tenant}/${who.actor}`} />
      {signedOut.value && <SignInAgain />}
    </>
  );
}
