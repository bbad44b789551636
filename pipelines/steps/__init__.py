"""Each stage with its reading and writing: read tables, call the stage, keep what it says.

A step that has been done finds its facts in the lake and does nothing; a step that was killed half
way goes on with what is missing. The flow, the CLI and the Dagster assets all call these.
"""
