/** What a search did otherwise than asked, or what its answer lacks. */
export interface SearchNote {
  /**
   * `nothing-to-find`: no word was left to look for. `read-as-text`: something that looks like syntax
   * was taken for text or passed over, at `position`. `index-incomplete`: messages were read one by one,
   * because an index is missing, damaged or behind; `maintenance.rebuildIndexes()` heals it.
   * `counted-in-part`: more messages fit than were counted.
   */
  readonly code: 'nothing-to-find' | 'read-as-text' | 'index-incomplete' | 'counted-in-part'
  readonly message: string
  /** In the query, in UTF-16 units. */
  readonly position?: number
}
