import { Option, type Command } from 'commander'

import type { SearchHit, SearchNote } from '../../index.ts'
import { collect, limit, wholeNumber } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import type { Output } from '../output.ts'
import { localTime, oneLine } from '../text.ts'

interface SearchOptions {
  readonly source?: readonly string[]
  readonly role?: readonly string[]
  readonly limit: number
  readonly offset: number
  readonly newest?: true
  readonly oldest?: true
}

export function addSearch(program: Command, cli: Cli): void {
  program
    .command('search <words...>')
    .description(
      'messages that contain all the words; "a phrase", OR, NOT and begin* are understood',
    )
    .option('--source <source>', 'only in sessions of this source; may be repeated', collect)
    .option('--role <role>', 'only what this role said, such as user; may be repeated', collect)
    .option('--limit <number>', 'how many, or "all"', limit, 20)
    .option('--offset <number>', 'how many to leave out first', wholeNumber, 0)
    .addOption(new Option('--newest', 'the newest first, not the best match').conflicts('oldest'))
    .addOption(new Option('--oldest', 'the oldest first, not the best match'))
    .action((words: string[], options: SearchOptions) =>
      cli.read(async (store) => {
        const sort = options.newest ? 'newest' : options.oldest ? 'oldest' : 'relevance'
        const found = await store.search.find(words.join(' '), {
          limit: options.limit === -1 ? -1 : options.offset + options.limit,
          sort,
          ...(options.source && { sources: options.source }),
          ...(options.role && { roles: options.role }),
        })
        const hits = found.hits.slice(options.offset)
        // Beside the answer, so that a program can still read that.
        for (const note of found.notes) console.error(`hermes-store: ${remark(note)}`)
        if (cli.json) return cli.out.json(hits)
        if (hits.length === 0) return cli.out.line('Nothing found.')
        for (const hit of hits) await cli.out.line(entryOf(cli.out, hit))
      }),
    )
}

function remark({ code, message }: SearchNote): string {
  const remedy = code === 'index-incomplete' ? '; run `hermes-store rebuild-indexes`' : ''
  return oneLine(message + remedy)
}

function entryOf(out: Output, hit: SearchHit): string {
  const head = `${hit.sessionId}, ${hit.source}, ${hit.role}, ${localTime(hit.timestamp)}`
  return `${out.dim(oneLine(head))}\n  ${highlighted(out, oneLine(hit.snippet ?? '').trim())}\n`
}

/** The store marks what was hit as `>>>so<<<`. */
function highlighted(out: Output, snippet: string): string {
  if (!out.hasColour) return snippet
  return snippet.replaceAll(/>>>(.*?)<<</g, (_, hit: string) => out.bold(hit))
}
