"""An adapter for Google's Model Explorer, which loads `main` of it:

model-explorer model.pt --extensions=fxtrace_adapter_model_explorer
"""
