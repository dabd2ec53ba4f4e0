// The site of the documentation: make site. The pages are those of docs/, as GitHub shows them.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'

const docs = fileURLToPath(new URL('..', import.meta.url))
const root = join(docs, '..')
const repository = 'https://github.com/quorate/quorate'

// target returns what a link of a page leads to on the site. Files that are no page of it are
// on GitHub.
function target(href, page) {
  const [, path, hash] = /^([^#]*)(.*)$/.exec(href)
  if (path === '' || /^[a-z]+:/.test(path)) return href
  const file = join(dirname(page), path)
  if (!existsSync(file)) throw new Error(`${relative(root, page)}: ${href} leads nowhere`)
  const inDocs = relative(docs, file)
  if (inDocs.startsWith('..') || !inDocs.endsWith('.md') || inDocs.startsWith('results')) {
    return `${repository}/${statSync(file).isDirectory() ? 'tree' : 'blob'}/main/${relative(root, file)}${hash}`
  }
  return path.replace(/README\.md$/, 'index.md') + hash
}

// The navigation is the lists of docs/README.md, one for each of its headings.
function navigation() {
  const page = join(docs, 'README.md')
  const groups = []
  for (const line of readFileSync(page, 'utf8').split('\n')) {
    const heading = /^## (.*)/.exec(line)
    const item = /^\* \[(.*?)\]\((.*?)\)/.exec(line)
    if (heading) groups.push({ text: heading[1], items: [] })
    if (item) {
      const to = target(item[2], page)
      groups.at(-1).items.push({ text: item[1], link: to.startsWith('https:') ? to : '/' + to.replace(/(index)?\.md$/, '') })
    }
  }
  return groups
}

// GitHub's names of headings, so that links work here and there.
const slugify = text => text.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')

export default defineConfig({
  title: 'Quorate',
  description: 'Cron for services that run as N identical replicas: every tick runs on exactly one.',
  base: '/quorate/',
  outDir: join(root, 'bin/site'),
  cacheDir: join(root, 'bin/site-cache'),
  srcExclude: ['results/**'],
  rewrites: { 'README.md': 'index.md', 'guarantees/README.md': 'guarantees/index.md' },
  markdown: {
    anchor: { slugify },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    attrs: { disable: true },
    languageAlias: { crontab: 'sh' },
    config(md) {
      md.core.ruler.push('repository', state => {
        for (const token of state.tokens.flatMap(t => t.children ?? [])) {
          if (token.type !== 'link_open') continue
          token.attrSet('href', target(token.attrGet('href'), state.env.realPath ?? state.env.path))
        }
        for (const [i, token] of state.tokens.entries()) {
          const text = state.tokens[i + 1]?.content
          if (token.type === 'th_open' && !text) token.tag = state.tokens[i + 2].tag = 'td' // no header
          if (token.type === 'td_open' && text.length > 40) token.attrJoin('class', 'wide')
        }
      })
      const fence = md.renderer.rules.fence
      md.renderer.rules.fence = (tokens, i, ...rest) => tokens[i].info === 'mermaid'
        ? `<Diagram source="${encodeURIComponent(tokens[i].content)}" />`
        : fence(tokens, i, ...rest)
    },
  },
  vite: {
    plugins: [{
      name: 'vue-of-pages', // pages lie outside the folder that has node_modules
      resolveId(id, importer) {
        return /^vue(\/|$)/.test(id) && importer?.endsWith('.md') ? this.resolve(id, fileURLToPath(import.meta.url)) : null
      },
    }],
  },
  themeConfig: {
    sidebar: navigation(),
    outline: [2, 3],
    search: { provider: 'local' },
    editLink: { pattern: `${repository}/edit/main/docs/:path`, text: 'Edit this page' },
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
