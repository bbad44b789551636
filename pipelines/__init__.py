"""The method, one module per stage; `flow.py` is the whole chain on one page."""
