import { readdir, unlink } from 'node:fs/promises'
import path from 'node:path'

/**
 * Removes the agent's transcripts of deleted sessions: `<id>.json`, `<id>.jsonl` and
 * `request_dump_<id>_….json` (spec §14). Only names that the folder lists are removed, so that no id,
 * whatever separators or wildcards it holds, reaches outside of it. A file that is gone already or
 * cannot be removed stays unmentioned, as with the agent: the session is deleted all the same.
 */
export async function removeTranscripts(folder: string, ids: readonly string[]): Promise<void> {
  const deleted = new Set(ids)
  for (const name of await namesIn(folder)) {
    if (!belongsTo(name, deleted)) continue
    await unlink(path.join(folder, name)).catch(() => {})
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch {
    return []
  }
}

function belongsTo(name: string, ids: ReadonlySet<string>): boolean {
  const stem = /^(.*)\.jsonl?$/s.exec(name)?.[1]
  if (stem === undefined) return false
  return ids.has(stem) || (name.endsWith('.json') && dumpBelongsTo(stem, ids))
}

/** An id may hold underscores itself, so each may be the one that ends it. */
function dumpBelongsTo(stem: string, ids: ReadonlySet<string>): boolean {
  const prefix = 'request_dump_'
  if (!stem.startsWith(prefix)) return false
  const rest = stem.slice(prefix.length)
  for (let end = rest.indexOf('_'); end !== -1; end = rest.indexOf('_', end + 1)) {
    if (ids.has(rest.slice(0, end))) return true
  }
  return false
}
