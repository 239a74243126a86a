"""The models of the sample archives: one file per subject, each with a list SAMPLES.

A file of its own for each subject keeps an archive's bytes (line numbers are recorded in it) independent of
the others.
"""
