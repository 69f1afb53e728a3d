/* profile_builtin.h -- the texts of profiles/, as embed_profiles.cmake writes them into C.
 *
 * The summary is the file's first comment line. Threads: constant data.
 */
#ifndef MODEL_PROFILE_BUILTIN_H
#define MODEL_PROFILE_BUILTIN_H

struct profile_text {
    const char *name, *summary, *text;
};

extern const struct profile_text profile_texts[];
extern const int profile_text_count;

#endif
