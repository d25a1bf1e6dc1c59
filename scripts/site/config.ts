import { defineConfig } from 'vitepress';
import { sidebarOf } from './sidebar.js';

/** Settings of the generator, VitePress. `root`: the repository; `base`: the path below which the site is served. */
export const siteConfig = (root: string, base: string, outDir: string) =>
  defineConfig({
    ...{ base, outDir, title: 'Holdfast', description: 'Durable workflow engine for AI agents.', lang: 'en' },
    lastUpdated: false,
    // Words between < and > are text, and addresses that are no links stay none.
    markdown: { html: false, linkify: false, anchor: { slugify } },
    // A custom element or a placeholder in the text is no template of Vue.
    vue: { template: { compilerOptions: { delimiters: ['\u0000{', '}\u0000'] } } },
    themeConfig: {
      search: { provider: 'local' },
      sidebar: [...sidebarOf(root)].map(({ items, ...group }) => ({ ...group, items: [...items] })),
      nav: [
        { text: 'Documentation', link: '/docs/' },
        { text: 'Examples', link: '/examples/' },
        { text: 'Changes', link: '/CHANGELOG' },
      ],
      outline: [2, 3],
    },
  });

/** Anchors as the links of the pages expect them. */
const slugify = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
